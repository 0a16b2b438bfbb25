"""Playwright's sync API, unmodified, opens pages of a real browser in many tasklets.

It needs a Chromium, which no wheel brings; one of the machine is used, or the test is skipped.
"""

import importlib.util
import shutil

import pytest

NAMES = ["/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"]
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None, reason="playwright is not installed"
    ),
    pytest.mark.skipif(
        CHROMIUM is None, reason="no chromium on this machine: pages are NOT opened"
    ),
    pytest.mark.slow,  # a browser takes seconds to begin
]

PAGES = """
    import http.server
    import sys
    import threading
    from urllib.parse import urlunsplit
    from playwright.sync_api import sync_playwright

    TASKLETS, TABS = 3, 2
    ARGUMENTS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]
    PAGE = '''<title>{path}</title><p id="count">0</p>
        <button onclick="fetch('/add').then(a => a.text()).then(t => count.textContent = t)">'''

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/favicon.ico":
                together.wait(60)  # nobody's page comes before everybody has asked
            text = "1" if self.path == "/add" else PAGE.format(path=self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *ignored):
            pass

    def visit(browser, number, tab):
        page = browser.new_page(base_url=site)
        page.goto(f"/{number}/{tab}")
        page.click("button")
        page.wait_for_function("count.textContent != '0'")
        found = page.title(), int(page.text_content("#count")), page.evaluate("6 * 7")
        page.close()
        return found

    def work(number):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=sys.argv[1], args=ARGUMENTS, chromium_sandbox=False
            )
            seen.extend(visit(browser, number, tab) for tab in range(TABS))
            browser.close()

    together = threading.Barrier(TASKLETS)
    seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    site = urlunsplit(("http", f"127.0.0.1:{server.server_port}", "", "", ""))
    threading.Thread(target=server.serve_forever).start()
    threads = [threading.Thread(target=work, args=[number]) for number in range(TASKLETS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.shutdown()
    server.server_close()
    print(*sorted(seen), sep="\\n")
"""


def test_pages_in_many_tasklets(run_program):
    """Each tasklet has a browser; all of them wait for their pages and scripts at once."""
    done = run_program(PAGES, str(CHROMIUM))
    expected = [(f"/{number}/{tab}", 1, 42) for number in range(3) for tab in range(2)]
    assert done.stdout.splitlines() == [str(each) for each in expected], done.stderr
    assert done.returncode == 0
