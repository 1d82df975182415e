"""Looks at a page of pf-report as its users do: in Chromium, with the pointer and with the keyboard.

browse_page.py REPORT-DIRECTORY SCREENSHOT-DIRECTORY

Chooses every phase of every run and compares what the page then shows with phases.csv and links.csv
of the report. Also: no error in the console, keyboard and pointer tell values, tables sort, nothing
is cut at 400 pixels or on paper. Prints one line for each thing that was seen; ends with 1 and says
what is wrong otherwise.
"""

import base64
import csv
import pathlib
import re
import sys
from urllib.parse import unquote

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

report, shots = map(pathlib.Path, sys.argv[1:3])
shots.mkdir(parents=True, exist_ok=True)


def percent(ratio):
    """Three significant digits, as the page writes them."""
    value = float(f"{float(ratio) * 100:.3g}")
    return f"{value:g} %" if value < 1e5 else f"{value:.0f} %"


def rows(name):
    with open(report / name, newline="") as file:
        return list(csv.DictReader(file))


def browser(width, dark=False):
    options = webdriver.ChromeOptions()
    for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    scheme = "dark" if dark else "light"
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get((report / "index.html").resolve().as_uri())
    driver.set_script_timeout(20)
    # The page unpacks its data first; the choice is shown when that is done.
    driver.execute_async_script("""
        const done = arguments[0], choice = document.querySelector('.choice');
        const look = () => choice.hidden ? requestAnimationFrame(look) : done();
        look();""")
    return driver


def selection(driver):
    """Every phase of every run: its facts, links, matrix and map are those of the tables."""
    runs, phases = Select(driver.find_element(By.ID, "run")), Select(driver.find_element(By.ID, "phase"))
    links = {}
    for row in rows("links.csv"):
        if row["utilization"]:
            links.setdefault((row["run"], row["job"], row["phase"]), []).append(row)
    seen = 0
    for row in rows("phases.csv"):
        run = next(o for o in runs.options if o.get_attribute("data-run") == row["run"])
        phase = next(o for o in phases.options if unquote(o.get_attribute("data-phase") or "") == row["phase"])
        runs.select_by_value(run.get_attribute("value"))
        phases.select_by_value(phase.get_attribute("value"))
        facts = driver.find_element(By.ID, "facts").text
        number = rf"phase {re.escape(row['phase'])}\b.* in run {row['run']}:"
        assert re.match(number, facts), f"{number} not in {facts}"
        matrices = [f for f in driver.find_elements(By.CSS_SELECTOR, "[data-matrix]") if f.is_displayed()]
        assert len(matrices) == 1 and f"phase {row['phase']}" in matrices[0].find_element(By.TAG_NAME, "figcaption").text, facts
        first = driver.find_elements(By.CSS_SELECTOR, "#links tbody tr")
        if not row["bottleneck_src"]:
            assert not first, facts
            continue
        link, used = f"{row['bottleneck_src']} → {row['bottleneck_dst']}", percent(row["max_utilization"])
        assert f"hottest link is {link} at {used}" in facts or float(row["max_utilization"]) < 1e-4, f"{link} {used}: {facts}"
        shown = [[cell.text for cell in r.find_elements(By.TAG_NAME, "td")] for r in first]
        known = links[row["run"], row["job"], row["phase"]]
        expected = sorted((float(r["utilization"]) for r in known), reverse=True)[:10]
        if expected[-1] >= 1e-4:
            assert [cells[2] for cells in shown] == [percent(u) for u in expected], f"{shown}"
        assert len(shown) == len(expected), f"{shown}"
        # The widest line of the map is the most used cable.
        svg = next(f for f in driver.find_elements(By.CSS_SELECTOR, "[data-map]") if f.is_displayed()).find_element(By.TAG_NAME, "svg")
        hot = svg.find_elements(By.CSS_SELECTOR, ".links .hot")
        cables = {frozenset((r["src"], r["dst"])) for r in known if float(r["utilization"]) > 0}
        assert len(hot) == len(cables), f"{len(hot)} lines, {len(cables)} cables: {facts}"
        driver.execute_script("arguments[0].focus()", svg)
        ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
        told = svg.find_element(By.XPATH, "..").find_element(By.CLASS_NAME, "readout").text
        assert percent(expected[0]) in told or expected[0] < 1e-3, f"{told}: {expected[0]}"
        seen += 1
    assert seen
    print(f"selection: {seen} phases show what the tables say")


def values(driver):
    """Pointer and keyboard tell the values of cells and of the time line."""
    figure = next(f for f in driver.find_elements(By.CSS_SELECTOR, "[data-matrix]") if f.is_displayed())
    svg = figure.find_element(By.TAG_NAME, "svg")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", svg)
    readout = figure.find_element(By.CLASS_NAME, "readout")
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT).pause(0.3).perform()
    by_key = readout.text
    assert re.match(r"ranks? 0.* → ranks? 1.*: (nothing|.* B|.*B)$", by_key), by_key
    ActionChains(driver).move_to_element(figure.find_element(By.TAG_NAME, "image")).pause(0.3).perform()
    by_pointer = readout.text
    assert re.match(r"ranks? \d+.* → ranks? \d+.*: ", by_pointer) and by_pointer != by_key, by_pointer
    line = driver.find_element(By.CSS_SELECTOR, "svg.timeline")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", line)
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT).perform()
    told = driver.execute_script("return arguments[0].parentElement.nextElementSibling.textContent", line)
    assert re.search(r": [0-9.]+ [mµn]?s to [0-9.]+ [mµn]?s", told), told
    print(f"values: {by_key}; {by_pointer}; {told}")


def sorting(driver):
    """A heading sorts its table by numbers."""
    table = driver.find_element(By.CSS_SELECTOR, "table.sortable")
    headings = table.find_elements(By.CSS_SELECTOR, "thead th")
    column = next(i for i, h in enumerate(headings) if "time" in h.text)
    key = "return [...arguments[0].tBodies[0].rows].map((row) => Number(row.cells[arguments[1]].dataset.v))"
    for order in (sorted, lambda values: sorted(values, reverse=True)):
        headings[column].find_element(By.TAG_NAME, "button").click()
        found = driver.execute_script(key, table, column)
        assert found == list(order(found)) and len(set(found)) > 1, found
    print(f"sorting: {len(found)} runs by time, both ways")


def first_screen(driver):
    """The verdict needs no scrolling on a screen of 1 200 × 900, and the best run stands there too."""
    bottom = driver.execute_script("""
        const best = document.querySelector('table.sortable tbody tr') ?? document.querySelector('.verdict');
        window.scrollTo(0, 0);
        return [document.querySelector('.verdict').getBoundingClientRect().bottom, best.getBoundingClientRect().bottom]""")
    assert max(bottom) <= 900, bottom


def fits(driver, width):
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width, f"the page is {wide} pixels wide at {width}"


def paper(driver):
    """On A4 no table is wider than the sheet."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    # A4 without margins of 1 cm: 190 mm at 96 pixels an inch.
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    cut = driver.execute_script("""
        return [...document.querySelectorAll('table, svg')].filter((e) => e.getBoundingClientRect().right > 719 || e.closest('.wide')?.scrollWidth > 719)
            .map((e) => (e.caption?.textContent ?? e.getAttribute('aria-label')) + ' ' + e.getBoundingClientRect().right)""")
    assert not cut, f"cut on paper: {cut}"
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True})["data"])
    (shots / "page.pdf").write_bytes(pdf)
    print(f"paper: {pdf.count(b'/Type /Page') - pdf.count(b'/Type /Pages')} sheets, nothing cut")


for width, dark in [(1200, False), (1200, True), (400, False)]:
    driver = browser(width, dark)
    try:
        name = f"{width}-{'dark' if dark else 'light'}"
        fits(driver, width)
        driver.save_screenshot(str(shots / f"{name}.png"))
        if (width, dark) == (1200, False):
            first_screen(driver)
            values(driver)
            sorting(driver)
            selection(driver)
            driver.execute_script("document.getElementById('explore').scrollIntoView()")
            driver.save_screenshot(str(shots / "explore.png"))
            paper(driver)
        said = [entry["message"] for entry in driver.get_log("browser")]
        assert not said, f"the console says {said}"
        print(f"{name}: fits, the console is empty")
    finally:
        driver.quit()
