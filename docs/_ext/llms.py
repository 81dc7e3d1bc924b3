"""``llms.txt``: what the site holds, a line per page, for programs that read rather than browse."""

from pathlib import Path

HEAD = """# sarlearn

> Python library and command line for learning from positive and unlabelled data when the labelled
> positives are a biased sample (selected at random, SAR). Classifier f(x) = P(y=1|x) and propensity
> e(x) = P(s=1|y=1,x) are learned together from P(s=1|x) = f(x) e(x). scikit-learn interface.

Rules that matter: name as propensity_features what the labelling process could see, never every
column; unlabelled is not negative; read class_prior_range_ and the warnings before class_prior_;
labelled and unlabelled rows must be one sample unless single_sample=False.
"""
SECTIONS = {
    "Start": ("start", "which_learner", "pitfalls", "glossary", "coming_from", "you_may_know"),
    "User guide": ("user_guide/",),
    "Tutorials": ("generated/tutorials/",),
    "Examples": ("generated/gallery/",),
    "How good is it": ("how_good/",),
    "API": ("api/", "generated/api/"),
    "Development": ("development/",),
}


def write(app, exception) -> None:
    if exception or app.builder.name != "html":
        return
    titles = {name: node.astext() for name, node in app.env.titles.items()}
    text = HEAD
    for section, prefixes in SECTIONS.items():
        pages = sorted(n for n in titles if n.startswith(prefixes) and "sg_execution" not in n)
        text += f"\n## {section}\n\n"
        text += "".join(f"- [{titles[name]}]({name}.html)\n" for name in pages)
    Path(app.outdir, "llms.txt").write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
