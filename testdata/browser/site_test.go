package browser

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// buildSite builds the website, once.
var buildSite = sync.OnceValue(func() error { return runSite(site) })

func runSite(out string) error {
	cmd := exec.Command("go", "run", "./testdata/site", "-out", out, "-base", "/v1/", "-version", "v1", "-versions", "main v1")
	cmd.Dir, cmd.Stderr = top, os.Stderr
	return cmd.Run()
}

// TestSite opens pages of the website in narrow and wide windows, in light and dark colors.
// The pages are accessible, fit into the window, and load nothing from other servers.
func TestSite(t *testing.T) {
	address := serveSite(t)
	widths := map[string]int{"narrow": 400, "wide": 1400}
	pages := map[string]string{"start": "", "code": "layers.html"}
	for name, page := range pages {
		for size, width := range widths {
			t.Run(name+" "+size, func(t *testing.T) {
				b := openSite(t, address+page, width)
				b.wants(`document.documentElement.scrollWidth <= innerWidth`, "true")
				for _, mode := range []string{"light", "dark"} {
					b.dark(mode == "dark")
					b.wants(`document.documentElement.classList.contains("dark")`, strconv.FormatBool(mode == "dark"))
					b.accessible(mode)
					b.picture(strings.Join([]string{"site", name, size, mode}, "-") + ".png")
				}
			})
		}
	}
}

// TestSiteSearch finds a page with the search, and opens it with the keyboard.
func TestSiteSearch(t *testing.T) {
	b := openSite(t, serveSite(t), 1400)
	b.do(chromedp.Click("#local-search button"), chromedp.WaitVisible("#localsearch-input"))
	b.do(chromedp.SendKeys("#localsearch-input", "misspelt key"), chromedp.WaitVisible("#localsearch-list .result"))
	// VitePress gives its search box the role of a button, and labels results with their titles.
	b.accessible("search", "nested-interactive", "label-content-name-mismatch")
	b.picture("site-search.png")
	b.do(chromedp.SendKeys("#localsearch-input", "\r"))
	b.wants(`location.pathname != "/v1/"`, "true")
}

// TestSiteVersion checks that pages show their version and link to the others.
func TestSiteVersion(t *testing.T) {
	serveSite(t)
	text, err := os.ReadFile(filepath.Join(site, "stacks.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fleetc v1, Apache-2.0", `href="../main/"`, "https://github.com/fleetc/fleetc/blob/v1/"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
}

// TestSiteDeterministic builds the website again, in another directory: all files are equal.
func TestSiteDeterministic(t *testing.T) {
	serveSite(t)
	second := t.TempDir()
	if err := runSite(second); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("diff", "-rq", site, second).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, bytes.TrimSpace(out))
	}
}

// serveSite serves the website and returns the address of the start page.
func serveSite(t *testing.T) string {
	t.Helper()
	if err := buildSite(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/v1", http.FileServer(http.Dir(site))))
	t.Cleanup(server.Close)
	return server.URL + "/v1/"
}

// openSite opens a page of the website in a new browser.
func openSite(t *testing.T, address string, width int) *tab {
	t.Helper()
	return openPage(t, address, width, 900, ".VPContent", func(requests []string) (bad []string) {
		for _, r := range requests {
			if !strings.HasPrefix(r, "http://127.0.0.1:") && !strings.HasPrefix(r, "data:") {
				bad = append(bad, r)
			}
		}
		return bad
	})
}
