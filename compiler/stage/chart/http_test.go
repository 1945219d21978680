package chart

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A chartRepo is a chart repository on a local HTTP server.
type chartRepo struct {
	server *httptest.Server

	mu       sync.Mutex
	files    map[string][]byte
	asked    []*http.Request
	user     string // required user; empty for none
	password string
	moved    map[string]string // redirects by path
	busy     []int             // status of the next answers
	after    string            // Retry-After of these answers
}

// newRepo starts a repository with an index of the given archives.
func newRepo(t testing.TB, archives ...[]byte) *chartRepo {
	t.Helper()
	r := &chartRepo{files: map[string][]byte{}, moved: map[string]string{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	var index strings.Builder
	index.WriteString("apiVersion: v1\nentries:\n  other:\n  - description: {}\n    version: 1.0.0\n    urls: [other-1.0.0.tgz]\n")
	for _, data := range archives {
		files, err := unpack(data)
		if err != nil {
			t.Fatal(err)
		}
		d, err := describe(fleet.ChartRef{}, files)
		if err != nil {
			t.Fatal(err)
		}
		name := d.Name + "-" + d.Version + ".tgz"
		r.files["/"+name] = data
		fmt.Fprintf(&index, "  %s:\n  - version: %q\n    urls: [%q]\n    digest: %s\n", d.Name, d.Version, name, digest(data)[7:])
	}
	r.files["/index.yaml"] = []byte(joinEntries(index.String()))
	return r
}

// joinEntries merges the entries of one chart, which are adjacent, under one key.
func joinEntries(index string) string {
	var out []string
	seen := map[string]bool{}
	for line := range strings.Lines(index) {
		isName := strings.HasPrefix(line, "  ") && line[2] != ' ' && line[2] != '-'
		if !isName || !seen[line] {
			out = append(out, line)
		}
		seen[line] = seen[line] || isName
	}
	return strings.Join(out, "")
}

func (r *chartRepo) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, req)
	if len(r.busy) > 0 {
		if r.after != "" {
			w.Header().Set("Retry-After", r.after)
		}
		w.WriteHeader(r.busy[0])
		r.busy = r.busy[1:]
		return
	}
	user, password, _ := req.BasicAuth()
	if user != r.user || password != r.password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if to := r.moved[req.URL.Path]; to != "" {
		http.Redirect(w, req, to, http.StatusFound)
		return
	}
	data, ok := r.files[req.URL.Path]
	if !ok {
		http.NotFound(w, req)
		return
	}
	_, _ = w.Write(data)
}

func (r *chartRepo) url() string { return r.server.URL }

func (r *chartRepo) replace(name string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files["/"+name] = data
}

func (r *chartRepo) count(path string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, req := range r.asked {
		if req.URL.Path == path {
			n++
		}
	}
	return n
}

func (r *chartRepo) pin(t testing.TB, name, version string) fleet.ChartRef {
	t.Helper()
	data := r.files["/"+name+"-"+version+".tgz"]
	if data == nil {
		t.Fatalf("no %s %s", name, version)
	}
	return fleet.ChartRef{Repo: r.url(), Name: name, Version: version, Digest: digest(data)}
}

func TestIndexIsFetchedOnce(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"), archive(t, "web", "1.1.0"), archive(t, "db", "2.0.0"))
	var wait sync.WaitGroup
	for _, ref := range []fleet.ChartRef{repo.pin(t, "web", "1.0.0"), repo.pin(t, "web", "1.1.0"), repo.pin(t, "db", "2.0.0")} {
		wait.Go(func() {
			if _, err := s.Chart(context.Background(), ref); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := repo.count("/index.yaml"); n != 1 {
		t.Errorf("%d requests for the index, want 1", n)
	}
}

func TestIndexURLs(t *testing.T) {
	other := newRepo(t, archive(t, "web", "1.0.0"))
	data := other.files["/web-1.0.0.tgz"]
	for name, at := range map[string]string{
		"relative":          "charts/web.tgz",
		"from the root":     "/stable/charts/web.tgz",
		"absolute":          other.url() + "/web-1.0.0.tgz",
		"absolute with key": other.url() + "/web-1.0.0.tgz?key=1",
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			repo := newRepo(t)
			repo.replace("stable/index.yaml", []byte(`{"entries": {"web": [null, {"version": "1.0.0", "urls": ["`+at+`"]}]}}`))
			repo.replace("stable/charts/web.tgz", data)
			got, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/stable/web"})
			if err != nil || got.Ref.Digest != digest(data) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestIndexLies(t *testing.T) {
	web := archive(t, "web", "1.0.0")
	for name, c := range map[string]struct {
		index string
		want  []string
	}{
		"digest":       {`{"entries": {"web": [{"version": "1.0.0", "urls": ["w.tgz"], "digest": "` + strings.Repeat("0", 64) + `"}]}}`, []string{digest(web), "index says sha256:0000"}},
		"odd digest":   {`{"entries": {"web": [{"version": "1.0.0", "urls": ["w.tgz"], "digest": "md5:1"}]}}`, []string{"index says"}},
		"version":      {`{"entries": {"web": [{"version": "2.0.0", "urls": ["w.tgz"]}]}}`, []string{"web@2.0.0", "Chart.yaml has the version 1.0.0"}},
		"name":         {`{"entries": {"web2": [{"version": "1.0.0", "urls": ["w.tgz"]}]}}`, []string{"Chart.yaml has the name web"}},
		"no archive":   {`{"entries": {"web": [{"version": "1.0.0", "urls": ["x.tgz"]}]}}`, []string{"/x.tgz: the server answered 404 Not Found", "use another version, or ask the owner of the repository"}},
		"no URL":       {`{"entries": {"web": [{"version": "1.0.0"}]}}`, []string{"no URL"}},
		"file URL":     {`{"entries": {"web": [{"version": "1.0.0", "urls": ["file:///etc/passwd"]}]}}`, []string{"cannot be used"}},
		"no chart":     {`{"entries": {"web": [{"version": "1.0.0", "urls": ["index.yaml"]}]}}`, []string{"not a chart archive"}},
		"not an index": {`<html>`, []string{"is not the index of a Helm repository: it has no entries"}},
		"a number":     {`entries: 3`, []string{"is not the index of a Helm repository: it has no entries"}},
		"JSON":         {`{"entries": 3}`, []string{"is not the index of a Helm repository: it has no entries"}},
		"no versions":  {`{"entries": {"web": [], "db": [{"version": "1.0.0"}]}}`, []string{"has no chart web", "use db"}},
		"no charts":    {`{"entries": {"web": []}}`, []string{"has no chart web", "use another repository: this one has no charts"}},
		"not YAML":     {"entries: [\n", []string{"is not the index"}},
		"nothing":      {``, []string{"is not the index"}},
		"aliases":      {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nentries: {web: [{version: *d, urls: [*d,*d,*d]}]}", []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t)
			repo := newRepo(t)
			repo.replace("index.yaml", []byte(c.index))
			repo.replace("w.tgz", web)
			ref := "web"
			if name == "name" {
				ref = "web2"
			}
			_, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/" + ref})
			wantFault(t, err, c.want...)
		})
	}
}

func TestIndexWithoutTheChart(t *testing.T) {
	s := source(t)
	repo := newRepo(t, archive(t, "web", "1.0.0"))
	_, err := s.Resolve(t.Context(), Request{Ref: "wbe", Repo: repo.url()})
	wantFault(t, err, repo.url()+" has no chart wbe", "did you mean web?")
	ref := repo.pin(t, "web", "1.0.0")
	ref.Version = "0.9.0"
	_, err = s.Chart(t.Context(), ref)
	wantFault(t, err, "has no version 0.9.0 of web", "use one of 1.0.0")
	_, err = s.Resolve(t.Context(), Request{Ref: repo.url() + "/sub/web"})
	wantFault(t, err, "/sub/index.yaml: the server answered 404 Not Found", "check the URL of the repository")
}

// A request is repeated if the server limits requests or a proxy cannot reach it.
func TestBusyServer(t *testing.T) {
	for _, c := range []struct {
		busy  []int
		after string
		want  []string
	}{
		{[]int{429, 429}, "0", nil},
		{[]int{502, 504}, "", nil},
		{[]int{503}, "", nil},
		{[]int{500}, "", []string{"/index.yaml: the server answered 500", "run the command again"}},
		{slices.Repeat([]int{429}, 100), "3600", []string{"/index.yaml: the server limits the rate of requests", "run the command again later"}},
	} {
		s := source(t)
		repo := newRepo(t, archive(t, "web", "1.0.0"))
		repo.busy, repo.after = c.busy, c.after
		_, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
		if c.want != nil {
			wantFault(t, err, c.want...)
		} else if err != nil {
			t.Errorf("%v: %v", c.busy, err)
		}
	}
}

func TestHugeAnswers(t *testing.T) {
	s := source(t)
	declared := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(maxIndex+1))
		_, _ = w.Write([]byte("entries:\n"))
	}))
	defer declared.Close()
	_, err := s.Resolve(t.Context(), Request{Ref: declared.URL + "/web"})
	wantFault(t, err, "/index.yaml is larger than 64 MiB")
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	_, err = s.Resolve(t.Context(), Request{Ref: endless.URL + "/web"})
	wantFault(t, err, "/index.yaml is larger than 64 MiB")
}

func TestCancel(t *testing.T) {
	s := source(t)
	ctx, cancel := context.WithCancel(t.Context())
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte("entries:\n"))
		w.(http.Flusher).Flush()
		cancel()
		<-req.Context().Done()
	}))
	defer slow.Close()
	ref := fleet.ChartRef{Repo: slow.URL, Name: "web", Version: "1.0.0", Digest: digest(nil)}
	if _, err := s.Chart(ctx, ref); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), ref.String()) {
		t.Errorf("got %v, want the reference and that it was cancelled", err)
	}
}

func TestDownloadIsNotDecoded(t *testing.T) {
	s := source(t)
	data := archive(t, "web", "1.0.0")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/index.yaml" {
			_, _ = w.Write([]byte("entries: {web: [{version: 1.0.0, urls: [web.tgz], digest: " + digest(data) + "}]}"))
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(data)
	}))
	defer server.Close()
	if _, err := s.Resolve(t.Context(), Request{Ref: server.URL + "/web"}); err != nil {
		t.Error(err)
	}
}

func TestServerErrorsHideSecrets(t *testing.T) {
	s := source(t)
	repo := newRepo(t)
	repo.replace("index.yaml", []byte(`{"entries": {"web": [{"version": "1.0.0", "urls": ["w.tgz?token=hunter2"]}]}}`))
	repo.moved["/gone.tgz"] = "http://127.0.0.1:1/?token=hunter2"
	_, err := s.Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
	wantFault(t, err, "404")
	repo.replace("index.yaml", []byte(`{"entries": {"web": [{"version": "1.0.0", "urls": ["gone.tgz?token=hunter2"]}]}}`))
	_, moved := nextRun(s).Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
	wantFault(t, moved, "refused")
	if text := err.Error() + moved.Error(); strings.Contains(text, "hunter2") {
		t.Errorf("a secret in %s", text)
	}
}

func TestResolveURL(t *testing.T) {
	for raw, want := range map[string]string{
		"a.tgz":                  "https://example.com/charts/a.tgz",
		"/a.tgz":                 "https://example.com/a.tgz",
		"../a.tgz":               "https://example.com/a.tgz",
		"//cdn.example.com/a":    "https://cdn.example.com/a",
		"https://x.example/a?b":  "https://x.example/a?b",
		"oci://r.example/c/a:1":  "oci://r.example/c/a:1",
		"http://example.com/a":   "",
		"https://u:p@example/a":  "",
		"data:text/plain,x":      "",
		"https://":               "",
		"https://exa mple.com/a": "",
	} {
		got := ""
		if u, err := resolve("https://example.com/charts", raw); err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestShowURL(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "h", Path: "/a", RawQuery: "t=1", User: url.UserPassword("u", "p")}
	if got := showURL(u); got != "https://h/a" {
		t.Error(got)
	}
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func writeConfig(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(os.Getenv("HELM_REPOSITORY_CONFIG"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
