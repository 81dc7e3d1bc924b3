"""Pages of classes show what this package wrote; scikit-learn's own methods are on its site."""


def skip(app, what, name, thing, skip, options) -> bool | None:
    function = getattr(thing, "fget", thing)
    module = getattr(function, "__module__", "") or ""
    if module.startswith(("sklearn.", "builtins")) or (
        name.startswith("set_") and name.endswith("_request")
    ):
        return True
    return None


def setup(app):
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
