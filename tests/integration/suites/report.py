# SPDX-License-Identifier: Apache-2.0
"""anttracks report: the page of a real program's trace, opened in a real browser."""

import glob
import os

from judge import browser
from judge.world import (
    AGENT,
    HERE,
    JDK,
    Skip,
    add,
    analyze,
    analyze_json,
    expect,
    run,
    run_traced,
    tail,
    test,
)
from suites.leaks import leaking_when_attached, traced_workload

MOST_BYTES = 2_000_000


def page_of(t, trace, *options):
    page = t.path("report.html")
    analyze("report", trace, "-o", page, *options)
    size = os.path.getsize(page)
    expect(size <= MOST_BYTES, f"the page has {size} bytes")
    return page


def opened(page, width=1280, dark=False):
    if browser.program() is None:
        raise Skip("missing chromium: scripts/setup-packages --only chromium")
    window = browser.Browser(width=width, dark=dark)
    try:
        window.open(page)
    except BaseException:
        window.__exit__()
        raise
    return window


def is_quiet(window, page):
    expect(window.requests == ["file://" + page], f"it asked for {window.requests}")
    expect(window.console == [], f"on the console: {window.console}")


# Both of what is drawn as SVG and what is on canvas.
DRAWN = """(() => {
  const paths = [...document.querySelectorAll('#timeline svg.plot')].map(svg =>
    [...svg.querySelectorAll('path')].filter(path => path.getTotalLength() > 20).length);
  const canvas = document.querySelector('#flame canvas');
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let painted = 0;
  for (let i = 3; i < pixels.length; i += 4) painted += pixels[i] !== 0;
  return {paths, painted, cells: document.querySelectorAll('#treemap .cell').length};
})()"""
LIVE = """(() => {
  const table = document.querySelector('#sites-table table');
  const heads = [...table.querySelectorAll('thead th')].map(cell => cell.textContent);
  const at = heads.findIndex(text => text.startsWith('Live bytes'));
  const sum = [...table.querySelectorAll('tfoot tr > *')][at].textContent;
  return {title: heads[at], bytes: Number(sum.replace(/[^0-9]/g, '')),
    first: table.querySelector('tbody tr').textContent,
    treemap: document.querySelector('#treemap').textContent,
    measure: document.querySelector('input[name=measure]:checked').value,
    chosen: document.querySelector('#moment-text').textContent};
})()"""
# WCAG 2: the relative luminances of both colours.
CONTRAST = """(() => {
  const light = text => {
    const [r, g, b] = text.match(/[0-9.]+/g).map(part => part / 255).map(part =>
      part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const paper = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  let worst = {ratio: 99};
  const all = 'h1, h2, p, a, dt, dd, button, label, td, th, .cell, .group, text';
  for (const element of document.querySelectorAll(all)) {
    const style = getComputedStyle(element), svg = element.namespaceURI.endsWith('svg');
    const pair = [light(svg ? style.fill : style.color), light(paper(element))].sort((a, b) => b - a);
    const ratio = (pair[0] + .05) / (pair[1] + .05);
    if (ratio < worst.ratio) worst = {ratio, text: element.textContent.slice(0, 60), tag: element.tagName};
  }
  return worst;
})()"""


def is_drawn(window, spaces=True, plots=3):
    drawn = window.evaluate(DRAWN)
    expect(len(drawn["paths"]) == plots and min(drawn["paths"]) > 0, f"{drawn}")
    expect(drawn["paths"][0] > (4 if spaces else 2), f"the heap is not drawn: {drawn}")
    expect(drawn["painted"] > 1000 and drawn["cells"] > 0, f"{drawn}")


def live_is(window, trace, gc):
    shown = window.evaluate(LIVE)
    heap = analyze_json("heap", trace, "--gc", str(gc))
    fillers = sum(
        row["bytes"]
        for row in analyze_json("heap", trace, "--gc", str(gc), "--by", "site")["rows"]
        if row["site"] == "<filler>"
    )
    expect(
        f"after GC {gc} " in shown["chosen"] + " " and shown["title"].rstrip(" ▼").endswith(f"after GC {gc}"),
        f"GC {gc}: {shown}",
    )
    expect(
        shown["bytes"] == heap["bytes"] - fillers, f"GC {gc}: {shown['bytes']} and {heap['bytes']} - {fillers}"
    )
    return shown


def choose_by_click(window, share):
    """On the plot of the heap, at that part of its width."""
    box = window.evaluate(
        "(() => { const svg = document.querySelector('#timeline svg'); svg.scrollIntoView({block: 'center'});"
        " const {left, top, width, height} = svg.getBoundingClientRect();"
        " return [left, top, width, height]; })()"
    )
    window.click(box[0] + box[2] * share, box[1] + box[3] / 2)


def gc_of(window):
    return window.evaluate("model.gcs[model.moments[state.moment].gc].id")


def choosing_changes_all(window, trace, measure="allocated", share=0.4):
    before = window.evaluate(LIVE)
    expect(before["measure"] == measure, f"{before}")
    choose_by_click(window, share)
    clicked = live_is(window, trace, gc_of(window))
    expect(clicked["measure"] == "live" and clicked["treemap"] != before["treemap"], f"{before} {clicked}")
    window.evaluate("document.getElementById('moment').focus()")
    # Where the JVM was slow to start, the click meets the first collection.
    at_first = window.evaluate("Number(state.moment) === 0")
    window.key(*(("ArrowRight", 39) if at_first else ("ArrowLeft", 37)))
    by_key = live_is(window, trace, gc_of(window))
    expect(by_key["chosen"] != clicked["chosen"] and by_key["bytes"] != clicked["bytes"], f"{clicked} {by_key}")
    window.evaluate("document.querySelector('#collections-table button.open').click()")
    live_is(window, trace, gc_of(window))


def tables_work(window):
    """Sorted both ways by a click, filtered, and exported as they are."""
    column = "[...document.querySelectorAll('#sites-table tbody tr')].map(row => row.children[0].textContent)"
    for _ in range(2):
        window.evaluate("document.querySelector('#sites-table thead button').click()")
        names = window.evaluate(column)
        order = window.evaluate("document.querySelector('#sites-table thead th').getAttribute('aria-sort')")
        ranked = window.evaluate(f"{column}.sort((a, b) => a.localeCompare(b))")
        expect(names == (ranked if order == "ascending" else ranked[::-1]), f"{order}: {names[:5]}")
    window.evaluate("sites.filter.value = 'java.lang.String'; sites.filter.dispatchEvent(new Event('input'))")
    found = window.evaluate(
        "[...document.querySelectorAll('#sites-table tbody tr')].map(row => row.textContent)"
    )
    expect(found and all("java.lang.String" in text for text in found), f"{found[:3]}")
    lines = window.evaluate("sites.csv()").splitlines()
    rows = window.evaluate("sites.chosen().length")
    expect(
        len(lines) == rows + 1 and lines[0].startswith("class,site,application,allocated_objects"),
        f"{lines[:2]}",
    )
    window.evaluate("sites.filter.value = ''; sites.draw()")


def keyboard_reaches(window):
    """The flame graph, the treemap and the slider, with the tabulator key alone."""
    wanted = {"canvas", "treemap", "moment", "open"}
    window.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(120):
        window.key("Tab", 9)
        at = window.evaluate(
            "(({tagName, id, className}) => [tagName, id, className].join(' '))(document.activeElement)"
        )
        wanted = {word for word in wanted if word not in at.lower()}
        if not wanted:
            return
    raise AssertionError(f"never reached: {wanted}")


def flame_by_keys(window):
    text = "document.querySelector('#flame .flame-detail').textContent"
    window.evaluate("document.querySelector('#flame canvas').focus()")
    root = window.evaluate(text)
    window.key("ArrowDown", 40)
    expect(window.evaluate(text) != root, f"{root}")


@test("The page of a leaking program names the leak, and a click on a collection shows what was live after it")
def leak(t):
    trace = traced_workload(t, "leak", millis=0, iterations=1, warmup=0, heap="24m")
    page = page_of(t, trace)
    with opened(page) as window:
        is_drawn(window)
        choosing_changes_all(window, trace)
        tables_work(window)
        keyboard_reaches(window)
        flame_by_keys(window)
        first = analyze_json("leaks", trace)["leaks"][0]
        shown = window.evaluate("document.querySelector('#histories figcaption').textContent")
        expect(first["site"] in shown and first["class"] in shown and "leak" in shown, f"{shown} {first}")
        points = window.evaluate("document.querySelectorAll('#histories svg path.live')[0].getTotalLength()")
        expect(points > 100, f"no history is drawn: {points}")
        is_quiet(window, page)


@test("The page of javac is complete in light and dark, on a narrow screen, and in any case without a request")
def javac(t):
    trace = t.path("trace")
    sources = glob.glob(os.path.join(HERE, "java", "*.java"))
    done = run(
        [
            JDK + "/bin/javac",
            f"-J-agentpath:{AGENT}=file={trace}",
            "-J-XX:+UseParallelGC",
            "-J-Xmx48m",
            "-J-Xmn12m",
            "-nowarn",
            "-XDignore.symbol.file",
            "-d",
            t.path("out"),
            *sources,
        ]
    )
    expect(done.returncode == 0, tail(done.stderr, 20))
    page = page_of(t, trace)
    sums = analyze_json("sites", trace)
    for width, dark in ((1280, False), (1280, True), (400, False), (400, True)):
        with opened(page, width, dark) as window:
            is_drawn(window)
            shown = window.evaluate(
                "[...document.querySelectorAll('#sites-table tfoot tr > *')].map(cell => cell.textContent)"
            )
            expect(
                f"{sums['bytes']:,}" in shown and f"{sums['objects']:,}" in shown, f"{sums['bytes']} {shown}"
            )
            wide = window.evaluate("document.documentElement.scrollWidth")
            expect(wide <= width, f"{wide} of {width} pixels")
            worst = window.evaluate(CONTRAST)
            expect(worst["ratio"] >= 4.5, f"{width} dark={dark}: {worst}")
            is_quiet(window, page)


def made_of(kind, options, main="Mix", check=lambda window: None, spaces=True):
    def body(t):
        trace, _ = run_traced(t, main, (), ("-XX:+UseParallelGC", "-Xmx64m", "-Xmn8m"), options, judged=False)
        page = page_of(t, trace)
        with opened(page) as window:
            is_drawn(window, spaces)
            check(window)
            is_quiet(window, page)

    add(f"The page is made of a trace that is {kind}", body)


def says_estimated(window):
    text = window.evaluate("document.querySelector('#sites-table tbody tr').textContent")
    expect("~" in text, text)
    expect("estimate" in window.evaluate("document.getElementById('notes').textContent"), "no note")


made_of(
    "rotated",
    ",maxsize=1M,dev=0.1",
    check=lambda window: expect(
        "beside it" in window.evaluate("document.getElementById('head').textContent"), "no word of the files"
    ),
)
made_of("of a share of all stretches", ",share=0.3", check=says_estimated)
made_of("of samples", ",mode=sample,interval=16K", check=says_estimated, spaces=False)


@test("The page of censuses has what each counted, the leak with its history, and nothing that was allocated")
def censuses(t):
    options = ",mode=census,every=gc"
    trace = traced_workload(t, "leak", millis=0, iterations=1, warmup=0, heap="24m", options=options)
    page = page_of(t, trace)
    for width, dark in ((1280, False), (400, True)):
        with opened(page, width, dark) as window:
            is_drawn(window, plots=2)
            live_is(window, trace, gc_of(window))
            choosing_changes_all(window, trace, measure="live", share=0.75)
            text = window.evaluate("document.body.innerText")
            for word in ("Allocated bytes", "survived a collection", "Pauses"):
                expect(word not in text, f"{width}: the page has {word!r}")
            for words in ("Allocation rate from one census to the next", "Counted bytes", "mode=census"):
                expect(words in text, f"{width}: the page has no {words!r}")
            first = analyze_json("leaks", trace)["leaks"][0]
            shown = window.evaluate("document.querySelector('#histories figcaption').textContent")
            expect(first["site"] in shown and first["class"] in shown, f"{shown} {first}")
            wide = window.evaluate("document.documentElement.scrollWidth")
            expect(wide <= width, f"{wide} of {width} pixels")
            worst = window.evaluate(CONTRAST)
            expect(worst["ratio"] >= 4.5, f"{width} dark={dark}: {worst}")
            is_quiet(window, page)


@test("The page is made of the trace of a program that was attached to")
def attached(t):
    trace = leaking_when_attached(t, "listeners", 20000)
    page = page_of(t, trace)
    with opened(page) as window:
        is_drawn(window)
        head = window.evaluate("document.getElementById('head').textContent")
        expect("from the attach on" in head, head)
        window.evaluate("chooseMoment(0)")
        live_is(window, trace, gc_of(window))
        is_quiet(window, page)
