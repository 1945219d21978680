package chart

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An ociRegistry is a registry with optional basic authentication.
type ociRegistry struct {
	server         *httptest.Server
	handler        http.Handler
	user, password string
	lists          atomic.Int64
	limited        atomic.Int64 // next requests to reject
}

func newRegistry(t *testing.T) *ociRegistry {
	t.Helper()
	r := &ociRegistry{handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *ociRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasSuffix(req.URL.Path, "/tags/list") {
		r.lists.Add(1)
	}
	if r.limited.Add(-1) >= 0 {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	user, password, _ := req.BasicAuth()
	if user != r.user || password != r.password {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.handler.ServeHTTP(w, req)
}

func (r *ociRegistry) host() string { return strings.TrimPrefix(r.server.URL, "http://") }

// push uploads data as Helm does.
func (r *ociRegistry) push(t *testing.T, repo, tag string, data []byte, mediaType types.MediaType) {
	t.Helper()
	ref, err := name.ParseReference(r.host() + "/" + repo + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	if image, err = mutate.AppendLayers(image, static.NewLayer([]byte("signature"), "application/vnd.cncf.helm.chart.provenance.v1.prov"),
		static.NewLayer(data, mediaType)); err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithAuth(&authn.Basic{Username: r.user, Password: r.password})); err != nil {
		t.Fatal(err)
	}
}

func TestOCI(t *testing.T) {
	s := source(t)
	r := newRegistry(t)
	for _, v := range []string{"1.0.0", "1.2.0+build.5", "1.1.0", "2.0.0-rc.1"} {
		r.push(t, "team/charts/web", tagOf(v), archive(t, "web", v), chartLayer)
	}
	r.push(t, "team/charts/web", "latest", archive(t, "web", "9.0.0"), chartLayer)
	repo := "oci://" + r.host() + "/team/charts"
	for want, c := range map[string]string{"1.2.0+build.5": "", "1.1.0": "<1.2", "2.0.0-rc.1": ">=2.0.0-0", "1.0.0": "1.0.0"} {
		got, err := nextRun(s).Resolve(t.Context(), Request{Ref: repo + "/web", Version: c})
		if err != nil {
			t.Fatal(err)
		}
		pin := fleet.ChartRef{Repo: repo, Name: "web", Version: want, Digest: digest(archive(t, "web", want))}
		if got.Ref != pin || got.Name != "web" || got.Version != want {
			t.Errorf("%q: got %+v, want %+v", c, got, pin)
		}
		fresh := &Source{Cache: t.TempDir()}
		if chart, err := fresh.Chart(t.Context(), pin); err != nil || len(chart.Files) != 2 {
			t.Errorf("%q: got %v, %v", c, chart, err)
		}
		if err := s.Verify(t.Context(), pin); err != nil {
			t.Error(err)
		}
	}
	lists := r.lists.Load()
	if _, err := nextRun(s).Resolve(t.Context(), Request{Ref: repo + "/web", Version: "1.1.0"}); err != nil || r.lists.Load() != lists {
		t.Errorf("the tags were listed for an exact version, %v", err)
	}
	got, err := nextRun(s).Resolve(t.Context(), Request{Ref: repo + "/web", Version: "<1.2"})
	if err != nil {
		t.Fatal(err)
	}
	r.server.Close()
	if _, err := nextRun(s).Chart(t.Context(), got.Ref); err != nil {
		t.Errorf("with the registry gone: %v", err)
	}
}

// A registry may limit more requests in a row than are repeated without Retry-After.
func TestOCIRetryAfter(t *testing.T) {
	s := source(t)
	r := newRegistry(t)
	r.push(t, "web", "1.0.0", archive(t, "web", "1.0.0"), chartLayer)
	r.limited.Store(5)
	if _, err := s.Resolve(t.Context(), Request{Ref: "oci://" + r.host() + "/web", Version: "1.0.0"}); err != nil {
		t.Error(err)
	}
}

func TestOCIFaults(t *testing.T) {
	s := source(t)
	r := newRegistry(t)
	r.push(t, "web", "1.0.0", archive(t, "web", "1.0.0"), chartLayer)
	r.push(t, "web", "1.1.0", archive(t, "web", "1.0.1"), chartLayer)
	r.push(t, "web", "1.2.0", []byte("no archive"), chartLayer)
	r.push(t, "image", "1.0.0", []byte("x"), types.OCILayer)
	repo := "oci://" + r.host()
	for name, c := range map[string]struct {
		req  Request
		want []string
	}{
		"no repository": {Request{Ref: repo + "/wbe"}, []string{"/wbe is not in the registry", "check the name"}},
		"no version":    {Request{Ref: repo + "/web", Version: "3.0.0"}, []string{"no version 3.0.0 of web", "use one of 1.2.0, 1.1.0, 1.0.0"}},
		"other version": {Request{Ref: repo + "/web", Version: "1.1.0"}, []string{"Chart.yaml has the version 1.0.1"}},
		"no archive":    {Request{Ref: repo + "/web", Version: "1.2.0"}, []string{"not a chart archive"}},
		"an image":      {Request{Ref: repo + "/image"}, []string{"/image:1.0.0 is not a chart"}},
		"a tag":         {Request{Ref: repo + "/web:1.0.0"}, []string{"--version", "/web --version 1.0.0"}},
		"upper case":    {Request{Ref: repo + "/Web"}, []string{"is not the address of a chart in a registry"}},
		"no server":     {Request{Ref: "oci://127.0.0.1:1/web"}, []string{"refused", "check the address"}},
		"no host":       {Request{Ref: "oci://web"}, []string{"the name of the chart is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nextRun(s).Resolve(t.Context(), c.req)
			wantFault(t, err, c.want...)
		})
	}
	ref := fleet.ChartRef{Repo: repo, Name: "web", Version: "1.0.0", Digest: digest(nil)}
	_, err := s.Chart(t.Context(), ref)
	wantFault(t, err, digest(archive(t, "web", "1.0.0")), digest(nil), "fleetc chart add "+repo+"/web --version 1.0.0")
	ref.Version = "4.0.0"
	_, err = s.Chart(t.Context(), ref)
	wantFault(t, err, "web:4.0.0 is not in the registry")
}

func TestOCILegacyLayer(t *testing.T) {
	s := source(t)
	r := newRegistry(t)
	r.push(t, "web", "1.0.0", archive(t, "web", "1.0.0"), legacyChartLayer)
	if _, err := s.Resolve(t.Context(), Request{Ref: "oci://" + r.host() + "/web"}); err != nil {
		t.Error(err)
	}
}

func TestOCIAuth(t *testing.T) {
	for password, want := range map[string]string{"hunter2": "", "hunter3": "docker login ", "": "docker login "} {
		t.Run(password, func(t *testing.T) {
			s := source(t)
			r := newRegistry(t)
			r.user, r.password = "me", "hunter2"
			r.push(t, "web", "1.0.0", archive(t, "web", "1.0.0"), chartLayer)
			if password != "" {
				config := `{"auths": {"` + r.host() + `": {"auth": "` + basic("me", password) + `"}}}`
				write(t, os.Getenv("DOCKER_CONFIG"), map[string]string{"config.json": config})
			}
			_, err := s.Resolve(t.Context(), Request{Ref: "oci://" + r.host() + "/web"})
			if want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantFault(t, err, want+r.host(), "these credentials cannot")
		})
	}
}

// TestIndexToRegistry resolves a chart of an HTTP index with a URL in a registry.
func TestIndexToRegistry(t *testing.T) {
	s := source(t)
	r := newRegistry(t)
	r.push(t, "web", "1.0.0_a", archive(t, "web", "1.0.0+a"), chartLayer)
	repo := newRepo(t)
	for _, tag := range []string{":1.0.0_a", ""} {
		repo.replace("index.yaml", []byte(`{"entries": {"web": [{"version": "1.0.0+a", "urls": ["oci://`+r.host()+`/web`+tag+`"]}]}}`))
		got, err := nextRun(s).Resolve(t.Context(), Request{Ref: repo.url() + "/web"})
		if err != nil || got.Ref.Repo != repo.url() {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestRegistryIsBounded(t *testing.T) {
	s := source(t)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/tags/list") {
			w.Header().Set("Link", "<"+server.URL+req.URL.Path+`?next>; rel="next"`)
			_, _ = w.Write([]byte(`{"name": "web", "tags": ["1.0.0"]}`))
		}
	}))
	defer server.Close()
	at := strings.Replace(server.URL, "http://", "oci://", 1)
	_, err := s.Resolve(t.Context(), Request{Ref: at + "/web"})
	wantFault(t, err, "more than 200 requests")
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = w.Write([]byte(`{"schemaVersion": 2, "layers": [{"mediaType": "` + chartLayer + `", "size": 200000000, "digest": "` + digest(nil) + `"}]}`))
		}
	}))
	defer large.Close()
	at = strings.Replace(large.URL, "http://", "oci://", 1)
	_, err = s.Resolve(t.Context(), Request{Ref: at + "/web", Version: "1.0.0"})
	wantFault(t, err, "/web:1.0.0 is larger than 100 MiB")
}

func TestPullChecksTheLayer(t *testing.T) {
	r := newRegistry(t)
	s := source(t)
	r.push(t, "web", "1.0.0", archive(t, "web", "1.0.0"), chartLayer)
	handler := r.handler
	r.handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") {
			_, _ = w.Write(archive(t, "web", "6.6.6"))
			return
		}
		handler.ServeHTTP(w, req)
	})
	_, err := s.Resolve(t.Context(), Request{Ref: "oci://" + r.host() + "/web", Version: "1.0.0"})
	wantFault(t, err, "web:1.0.0")
	if left, _ := filepath.Glob(filepath.Join(s.Cache, "charts", "sha256", "*")); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
}

func TestSplitTag(t *testing.T) {
	for at, want := range map[string][2]string{
		"h/a:1": {"h/a", "1"}, "h:5000/a": {"h:5000/a", "x"}, "h:5000/a:1": {"h:5000/a", "1"}, "h/a": {"h/a", "x"},
	} {
		if repo, tag := splitTag(at, "x"); repo != want[0] || tag != want[1] {
			t.Errorf("%s: got %s %s", at, repo, tag)
		}
	}
}
