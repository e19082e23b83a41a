"""Chromium, and what npm installs, for tests of pages."""

import contextlib
import json
import shutil
import subprocess

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

_CHROMEDRIVER = shutil.which("chromedriver")
needed = pytest.mark.skipif(
  _CHROMEDRIVER is None,
  reason="no chromedriver: apt-get install chromium chromium-driver",
)

# Against all that a browser loads, shows or does without being told.
_FLAGS = """
  --headless --no-sandbox --disable-gpu --disable-quic --no-first-run
  --disable-background-networking --disable-component-update --disable-sync
  --disable-dev-shm-usage --window-size=1000,900 --lang=en
""".split()


def install(folder):
  """Installs what the client of ONNX files needs, or skips the test."""
  if not shutil.which("npm"):
    pytest.skip("npm is not installed.")
  packages = ("onnxruntime-web", "@huggingface/tokenizers")
  command = ["npm", "install", "--ignore-scripts", *packages]
  if subprocess.run(command, cwd=folder, capture_output=True).returncode:
    pytest.skip("npm cannot install the packages.")


@contextlib.contextmanager
def running(profile):
  """Yields a driver of a browser with a new profile in the folder `profile`."""
  options = webdriver.ChromeOptions()
  for flag in (*_FLAGS, f"--user-data-dir={profile}"):
    options.add_argument(flag)
  options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
  started = webdriver.Chrome(options, webdriver.ChromeService(_CHROMEDRIVER))
  yield started
  started.quit()


class Page:
  """A page in a browser."""

  def __init__(self, driver):
    self.driver = driver

  def wait(self, condition):
    """Waits until a function of nothing returns something true."""
    return WebDriverWait(self.driver, 20).until(lambda _: condition())

  def find(self, css):
    return self.driver.find_element(By.CSS_SELECTOR, css)

  def all(self, css):
    return self.driver.find_elements(By.CSS_SELECTOR, css)

  def texts(self, css):
    return [node.get_property("textContent") for node in self.all(css)]

  def evaluate(self, script, *arguments):
    """Returns what an expression of JavaScript says."""
    return self.driver.execute_script(f"return {script}", *arguments)


def shares_in_browser(page, texts):
  """Asks the client of ONNX files about a pair; returns {label: share}."""
  page.wait(lambda: page.all("[name=pair]"))
  page.wait(lambda: page.find("button").is_enabled())
  for name, text in zip(("text", "pair"), texts, strict=True):
    page.find(f"[name={name}]").send_keys(text)
  page.find("button").click()
  [shown] = page.wait(lambda: [t for t in page.texts("pre") if t])
  return dict(json.loads(shown[: shown.rindex("]") + 1]))


@contextlib.contextmanager
def phone(driver, width):
  """Context in which pages are as wide as on a phone."""
  size = {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}
  driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
  try:
    yield
  finally:
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextlib.contextmanager
def colours(driver, scheme):
  """Context in which a person prefers "light" or "dark"."""
  feature = {"name": "prefers-color-scheme", "value": scheme}
  emulate = "Emulation.setEmulatedMedia"
  driver.execute_cdp_cmd(emulate, {"features": [feature]})
  try:
    yield
  finally:
    driver.execute_cdp_cmd(emulate, {"features": []})


def width_of_page(driver):
  return driver.execute_script("return document.documentElement.scrollWidth")


def least_contrast(driver):
  """Returns the least contrast (WCAG 2.2) of a text with what is behind it."""
  return driver.execute_script(_LEAST_CONTRAST)


_LEAST_CONTRAST = """
  const context = document.createElement("canvas")
    .getContext("2d", { willReadFrequently: true });
  const paint = (colours) => {
    context.fillStyle = "#000";
    context.fillRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    const weights = [0.2126, 0.7152, 0.0722];
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
      .reduce((sum, x, i) => sum + weights[i] * x, 0);
  };
  const contrasts = [...document.querySelectorAll("body *")]
    .filter((node) => node.checkVisibility() && [...node.childNodes].some(
      (child) => child.nodeType === 3 && child.textContent.trim()))
    .flatMap((node) => {
      const behind = [];
      for (let at = node; at; at = at.parentElement) {
        behind.unshift(getComputedStyle(at).backgroundColor);
        const bar = at.querySelector(":scope > .bar");
        if (bar) behind.unshift(getComputedStyle(bar).backgroundColor);
      }
      const text = paint([getComputedStyle(node).color]);
      const paper = paint(behind);
      return (Math.max(text, paper) + 0.05) / (Math.min(text, paper) + 0.05);
    });
  return Math.min(...contrasts);
"""
