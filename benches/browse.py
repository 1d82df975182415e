"""How fast a page of pf-report answers in Chromium.

browse.py REPORT-DIRECTORY SCREENSHOT-DIRECTORY

Prints how long the page takes until it can be used, and the median and the longest time from a
choice of run or phase until it is drawn; memory of the script; messages in the console. Ends with 1
if there are any. Writes a screenshot of the last choice. Needs Selenium, Chromium and chromedriver.
"""

import pathlib
import statistics
import sys
import time

from selenium import webdriver
from selenium.webdriver.common.by import By

report, shots = map(pathlib.Path, sys.argv[1:3])
# Choices that are timed, spread over runs and phases.
CHOICES = 24
# Ends when two frames have been drawn after the change.
CHOOSE = """
    const [id, value, done] = arguments, start = performance.now(), choice = document.getElementById(id);
    choice.value = value;
    choice.dispatchEvent(new Event('change', {bubbles: true}));
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));"""

options = webdriver.ChromeOptions()
for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1200,900"]:
    options.add_argument(option)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
driver.set_script_timeout(120)
start = time.monotonic()
driver.get((report / "index.html").resolve().as_uri())
driver.execute_async_script("""
    const done = arguments[0], choice = document.querySelector('.choice');
    const look = () => choice.hidden ? requestAnimationFrame(look) : done();
    look();""")
print(f"page ready after {time.monotonic() - start:.2f} s")
values = {
    name: [option.get_attribute("value") for option in driver.find_elements(By.CSS_SELECTOR, f"#{name} option")]
    for name in ("run", "phase")
}
times = []
for at in range(CHOICES):
    name = ("run", "phase")[at % 2]
    value = values[name][at * 7 % len(values[name])]
    times.append(driver.execute_async_script(CHOOSE, name, value))
print(f"{len(values['run'])} runs, {len(values['phase'])} phases; a choice is drawn after {statistics.median(times):.0f} ms, at most {max(times):.0f} ms")
print(f"memory of the script: {driver.execute_script('return performance.memory.usedJSHeapSize') / 1e6:.0f} MB")
print("facts:", driver.find_element(By.ID, "facts").text.splitlines()[0])
shots.mkdir(parents=True, exist_ok=True)
driver.save_screenshot(str(shots / "large-report.png"))
errors = driver.get_log("browser")
driver.quit()
if errors:
    sys.exit(f"console: {errors}")
