package apply

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func TestHeadName(t *testing.T) {
	for module, want := range map[string]string{
		"example.com/infra":             "inventory.example.com.infra",
		"Example.com/Team-A/fleet":      "inventory.example.com.team-a.fleet",
		"example.com/under_score":       "inventory." + fleetLabel("example.com/under_score"),
		"e/" + strings.Repeat("a", 300): "inventory." + fleetLabel("e/"+strings.Repeat("a", 300)),
	} {
		if got := headName(module); got != want {
			t.Errorf("%s: got %s, want %s", module, got, want)
		}
	}
}

// Fleets do not share chunks, because each fleet deletes its own.
func TestChunkNamesOfFleets(t *testing.T) {
	one, two := chunkNamesOf("example.com/one", bundlePrefix, []byte("same")), chunkNamesOf("example.com/two", bundlePrefix, []byte("same"))
	if one[0] == two[0] {
		t.Errorf("both fleets have %s", one[0])
	}
	for _, name := range append(one, two...) {
		if !chunkNames.MatchString(name) {
			t.Errorf("%s is not the name of a chunk", name)
		}
	}
	if fleetLabel("example.com/one") == fleetLabel("example.com/two") {
		t.Error("both fleets have the same label")
	}
}

// A lossyServer stores Secrets. Of the writes of each, the first is lost, then two responses.
type lossyServer struct {
	mu     sync.Mutex
	stored map[string]map[string]any
	writes map[string]int
}

// Paths of the API that the server serves; other paths are those of Secrets.
var lossyPaths = map[string]string{
	"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":                          `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1":                        `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list"]}]}`,
	"/api/v1/namespaces/kube-system": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1"}}`,
}

func (s *lossyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if text := lossyPaths[r.URL.Path]; text != "" {
		_, _ = fmt.Fprint(w, text)
		return
	}
	var sent map[string]any
	name := filepath.Base(r.URL.Path)
	if r.Method == http.MethodGet {
		s.answer(w, s.stored[name], apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name))
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		panic(err)
	}
	meta, _ := sent["metadata"].(map[string]any)
	name, _ = meta["name"].(string)
	if s.writes[name]++; s.writes[name] == 1 {
		panic(http.ErrAbortHandler)
	}
	old, _ := s.stored[name]["metadata"].(map[string]any)
	if old["resourceVersion"] != meta["resourceVersion"] {
		sent = nil
	} else {
		meta["resourceVersion"] = strconv.Itoa(len(s.stored) + s.writes[name])
		s.stored[name] = sent
	}
	if s.writes[name] <= 3 {
		w.Header().Set("Content-Length", "99999")
		_, _ = fmt.Fprint(w, "{")
		panic(http.ErrAbortHandler)
	}
	s.answer(w, sent, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, name, os.ErrExist))
}

// answer writes the object, or the error if there is none.
func (s *lossyServer) answer(w http.ResponseWriter, object map[string]any, err *apierrors.StatusError) {
	if object != nil {
		_ = json.NewEncoder(w).Encode(object)
		return
	}
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// Lost requests and responses lose no inventory or bundle, and do not end an apply.
func TestLostWrites(t *testing.T) {
	server := &lossyServer{stored: map[string]map[string]any{}, writes: map[string]int{}}
	s := httptest.NewServer(server)
	defer s.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"clusters": [{"name": "a", "cluster": {"server": %q}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}]}`, s.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(t.Context(), cluster.Address{Access: cluster.Access{Kubeconfig: kubeconfig}, Context: "a", RetryTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := store{c, "m"}.writeChunks(t.Context(), bundlePrefix, []byte("bundle"), nil)
	if err != nil || server.stored[names[0]] == nil {
		t.Errorf("a bundle is not stored: %v", err)
	}
	v := &Inventory{Format: inventoryFormat, Fleet: "m", Cluster: "c", UID: "1"}
	for _, bundle := range []string{"one", "two"} {
		v.Bundle, server.writes = bundle, map[string]int{}
		if err := v.write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadInventory(t.Context(), c, "m", "c"); err != nil || got.Bundle != bundle {
			t.Errorf("read %v, %v", got, err)
		}
	}
	other := *v
	other.Bundle, other.version = "three", "99"
	if err := other.write(t.Context(), c); cluster.ReasonOf(err) != cluster.Moved {
		t.Errorf("an inventory that another process has changed: %v", err)
	}
}

// Objects with the names of records are not objects of a bundle.
func TestRecords(t *testing.T) {
	const module = "example.com/infra"
	refs := []cluster.Ref{leaseRef, RolloutRef(module), headRef(module), headRef(module + strings.Repeat("/long", 100)), secretRef(headPrefix)}
	for _, prefix := range []string{headPrefix, bundlePrefix} {
		refs = append(refs, secretRef(chunkName(module, prefix, nil)))
	}
	for _, ref := range refs {
		if !fleet.IsRecord(ref.GroupKind(), ref.Namespace, ref.Name) {
			t.Errorf("%s %s/%s is not a record", ref.GroupKind(), ref.Namespace, ref.Name)
		}
		if fleet.IsRecord(ref.GroupKind(), "web", ref.Name) {
			t.Errorf("%s web/%s is a record", ref.GroupKind(), ref.Name)
		}
	}
}
