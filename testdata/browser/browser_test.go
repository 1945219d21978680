// Package browser tests the page of fleetc report and the website in real Chromium.
package browser

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "write the pictures of docs/report.md, and of the website, to this directory")

// fleetc is the program, which TestMain builds. axe is the source of axe-core. site is the
// directory of the website, which buildSite builds.
var fleetc, axe, site string

func TestMain(m *testing.M) {
	flag.Parse()
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "fleetc-browser-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if axe, err = installAxe(); err != nil {
		return 1, err
	}
	fleetc = filepath.Join(dir, "fleetc")
	build := exec.Command("go", "build", "-o", fleetc, "./cmd/fleetc")
	build.Dir, build.Stderr = top, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("build fleetc: %w", err)
	}
	site = filepath.Join(dir, "site")
	return m.Run(), nil
}

const top = "../.."

// installAxe returns the source of axe-core from the user's cache, or installs it there with
// npm.
func installAxe() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	place := filepath.Join(cache, "fleetc-axe", fmt.Sprintf("%x", sha256.Sum256(lock))[:24])
	file := filepath.Join(place, "node_modules", "axe-core", "axe.min.js")
	text, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		return string(text), err
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(place, name), data, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error")
	npm.Dir, npm.Stderr = place, os.Stderr
	if err := npm.Run(); err != nil {
		return "", fmt.Errorf("install axe-core with npm, for example from apt-get install npm: %w", err)
	}
	text, err = os.ReadFile(file)
	return string(text), err
}

// A tab is a tab of the browser.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	errors   []string
}

// open opens the page of a report in a new browser of the given size. The page consists of
// one file.
func open(t *testing.T, address string, width, height int) *tab {
	t.Helper()
	return openPage(t, address, width, height, "#main", func(requests []string) []string {
		if len(requests) == 1 {
			return nil
		}
		return requests
	})
}

// openPage opens a page in a new browser of the given size and waits for an element. It fails
// the test for errors of the page, and for requests that bad returns.
func openPage(t *testing.T, address string, width, height int, element string, bad func(requests []string) []string) *tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is not installed: install it, for example with apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(width, height))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stopTab := chromedp.NewContext(alloc)
	t.Cleanup(stopTab)
	b := &tab{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.event)
	b.do(network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(address), chromedp.WaitVisible(element, chromedp.ByQuery))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if found := bad(b.requests); len(found) > 0 || len(b.errors) > 0 {
			t.Errorf("requests %q, errors %q", found, b.errors)
		}
	})
	return b
}

func (b *tab) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *log.EventEntryAdded:
		b.errors = append(b.errors, ev.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, ev.ExceptionDetails.Error())
	}
}

// do runs actions in the browser.
func (b *tab) do(actions ...chromedp.Action) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, time.Minute) // so that a mistake ends
	defer stop()
	first := b.ctx
	if chromedp.FromContext(b.ctx).Browser != nil {
		first = ctx
	}
	if err := chromedp.Run(first, actions...); err != nil {
		b.Fatal(err)
	}
}

// text returns the value of a JavaScript expression as text.
func (b *tab) text(expression string) string {
	b.Helper()
	var out string
	b.do(chromedp.Evaluate("String("+expression+")", &out))
	return out
}

// wants waits for a value of an expression, since the page handles a new URL and the size of
// a window later than the browser returns.
func (b *tab) wants(expression, want string) {
	b.Helper()
	got := b.text(expression)
	for range 100 { // 10 s, so that a mistake ends
		if got == want {
			return
		}
		time.Sleep(100 * time.Millisecond)
		got = b.text(expression)
	}
	b.Errorf("%s is %q, want %q", expression, got, want)
}

// press sends keys to the focused element.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// search replaces the text of a search field.
func (b *tab) search(id, text string) {
	b.Helper()
	b.text(fmt.Sprintf(`(() => { const f = document.getElementById(%q); f.value = %q; f.dispatchEvent(new Event("input")); })()`, id, text))
}

// accessible checks the page with axe-core, without some of its rules.
func (b *tab) accessible(what string, without ...string) {
	b.Helper()
	rules := map[string]map[string]bool{}
	for _, rule := range without {
		rules[rule] = map[string]bool{"enabled": false}
	}
	options, err := json.Marshal(map[string]any{"resultTypes": []string{"violations"}, "rules": rules})
	if err != nil {
		b.Fatal(err)
	}
	var found []string
	b.do(chromedp.Evaluate(axe+";0", nil), chromedp.Evaluate("axe.run("+string(options)+`).then((r) => r.violations.map((v) =>
		v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")))`, &found,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	for _, v := range found {
		b.Errorf("%s: %s", what, v)
	}
}

func (b *tab) dark(on bool) {
	b.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}

// picture writes a screenshot for the docs to a file.
func (b *tab) picture(name string) {
	b.Helper()
	if *screenshots == "" {
		return
	}
	var png []byte
	b.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(*screenshots, name), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// write writes files, and returns their directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// report writes the page of a fleet and returns its address.
func report(t *testing.T, fleet string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	cmd := exec.Command(fleetc, append([]string{"-C", fleet, "--offline", "report", "--out", file}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, strings.TrimSpace(errs.String()))
	}
	return "file://" + file
}
