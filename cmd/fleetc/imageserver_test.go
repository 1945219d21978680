package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// imagePage is the number of tags in one page of a list.
const imagePage = 10

// An imageProxy is a proxy in front of a registry, which it serves under all names:
//
//	private.localhost    wants a token, which user ann gets with the password secret
//	limited.localhost    answers each second request with 429
//	down.localhost       does not work
//
// It lists the tags in pages.
type imageProxy struct {
	registry http.Handler
	tags     map[string][]string // by host and repository

	mu    sync.Mutex
	asked map[string]int // number of lists by repository
	count int            // requests to limited.localhost
}

// serveImages starts a registry and returns the URL of its proxy. Each line of the text is
// a reference to an image, and a kind: image, index, labelled for an image whose label says
// where its source is, or listed for a tag that cannot be read.
func serveImages(text string) (*imageProxy, *httptest.Server, error) {
	p := &imageProxy{registry: registry.New(registry.Logger(log.New(io.Discard, "", 0))), tags: map[string][]string{}, asked: map[string]int{}}
	server := httptest.NewServer(p)
	for line := range strings.Lines(text) {
		ref, kind, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		if tag, err := strconv.Unquote(ref); err == nil {
			ref = tag
		}
		i := strings.LastIndexByte(ref, ':')
		p.tags[ref[:i]] = append(p.tags[ref[:i]], ref[i+1:])
		if err := pushImage(server.URL, ref, kind); err != nil {
			server.Close()
			return nil, nil, fmt.Errorf("%s: %w", ref, err)
		}
	}
	return p, server, nil
}

// pushImage pushes an image whose digest depends on its reference alone.
func pushImage(at, ref, kind string) error {
	if kind == "listed" {
		return nil
	}
	_, path, _ := strings.Cut(ref, "/")
	to, err := name.NewTag(strings.TrimPrefix(at, "http://") + "/" + path)
	if err != nil {
		return err
	}
	image := func(platform string) v1.Image {
		out, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte(ref+platform), types.DockerLayer))
		if err != nil {
			panic(err)
		}
		return out
	}
	if kind == "index" {
		index := v1.ImageIndex(empty.Index)
		for _, arch := range []string{"amd64", "arm64"} {
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image(arch), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
		}
		return remote.WriteIndex(to, index)
	}
	if kind == "labelled" {
		config := v1.Config{Labels: map[string]string{"org.opencontainers.image.source": "https://code.example.com/" + to.RepositoryStr()}}
		labelled, err := mutate.Config(image(""), config)
		if err != nil {
			return err
		}
		return remote.Write(to, labelled)
	}
	return remote.Write(to, image(""))
}

// ServeHTTP implements [http.Handler].
func (p *imageProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	repository, isList := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/tags/list")
	p.mu.Lock()
	if host == "limited.localhost" {
		p.count++
	}
	limited := p.count%2 == 1
	if isList && r.URL.Query().Get("last") == "" {
		p.asked["list "+host+"/"+repository]++
	}
	p.mu.Unlock()
	switch {
	case r.Method == http.MethodConnect:
		http.Error(w, "no TLS", http.StatusMethodNotAllowed)
	case host == "down.localhost":
		http.Error(w, "out of order", http.StatusBadRequest)
	case host == "limited.localhost" && limited:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case host == "private.localhost" && r.URL.Path == "/token":
		user, password, _ := r.BasicAuth()
		if user != "ann" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"token": "t0ken"}`)
	case host == "private.localhost" && r.Header.Get("Authorization") != "Bearer t0ken":
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://private.localhost/token",service="images"`)
		w.WriteHeader(http.StatusUnauthorized)
	case host != "private.localhost" && r.Header.Get("Authorization") != "":
		http.Error(w, "these are credentials of another registry", http.StatusBadRequest)
	case isList:
		p.list(w, r, host+"/"+repository)
	default:
		p.registry.ServeHTTP(w, r)
	}
}

// list answers with a page of tags.
func (p *imageProxy) list(w http.ResponseWriter, r *http.Request, repository string) {
	tags, ok := p.tags[repository]
	if !ok {
		http.Error(w, `{"errors": [{"code": "NAME_UNKNOWN"}]}`, http.StatusNotFound)
		return
	}
	from := 0
	if last := r.URL.Query().Get("last"); last != "" {
		from = slices.Index(tags, last) + 1
	}
	to := min(from+imagePage, len(tags))
	if to < len(tags) {
		w.Header().Set("Link", fmt.Sprintf(`<%s?last=%s>; rel="next"`, r.URL.Path, url.QueryEscape(tags[to-1])))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": tags[from:to]})
}

type imagesKey struct{}

// cmdImages starts a registry of images, and sends the requests of the script to it:
// images FILE. Without a file, it prints how often each repository was listed since the
// last call.
func cmdImages(ts *testscript.TestScript, neg bool, args []string) {
	proxy, _ := ts.Value(imagesKey{}).(**imageProxy)
	switch {
	case neg || len(args) > 1:
		ts.Fatalf("usage: images [FILE]")
	case len(args) == 1:
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		ts.Check(err)
		p, server, err := serveImages(string(bytes.TrimSpace(text)))
		ts.Check(err)
		ts.Defer(server.Close)
		*proxy = p
		ts.Setenv("HTTP_PROXY", server.URL)
		ts.Setenv("HTTPS_PROXY", server.URL)
	default:
		p := *proxy
		p.mu.Lock()
		defer p.mu.Unlock()
		var lines []string
		for key, n := range p.asked {
			lines = append(lines, fmt.Sprintf("%d %s\n", n, key))
		}
		slices.SortFunc(lines, func(a, b string) int {
			return strings.Compare(a[strings.IndexByte(a, ' '):], b[strings.IndexByte(b, ' '):])
		})
		_, err := io.WriteString(ts.Stdout(), strings.Join(lines, ""))
		ts.Check(err)
		clear(p.asked)
	}
}
