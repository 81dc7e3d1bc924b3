"""``sarlearn demo``."""

from sarlearn.cli.common import print_text


def demo(report_path: str) -> None:
    """Run the demonstration and write its report."""
    from rich.console import Console

    from sarlearn.demo import run_demo
    from sarlearn.reporting import report

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 100
    result = run_demo(console=console)
    page = report(
        result["model"],
        result["X"],
        result["s"],
        feature_names=result["feature_names"],
        source="handwritten digits",
        label="even",
    )
    page.save(report_path)
    print_text(f"Wrote {report_path}.")
