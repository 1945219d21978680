package gitops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// waitTimeout is the timeout for a single condition on a busy machine.
const waitTimeout = 5 * time.Minute

// requestedAt is the annotation that requests an immediate reconciliation.
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// resources are Flux's kinds with their API paths.
var resources = map[string]string{
	"GitRepository":  "/apis/source.toolkit.fluxcd.io/v1/namespaces/%s/gitrepositories/%s",
	"OCIRepository":  "/apis/source.toolkit.fluxcd.io/v1/namespaces/%s/ocirepositories/%s",
	"HelmRepository": "/apis/source.toolkit.fluxcd.io/v1/namespaces/%s/helmrepositories/%s",
	"HelmChart":      "/apis/source.toolkit.fluxcd.io/v1/namespaces/%s/helmcharts/%s",
	"Kustomization":  "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/%s/kustomizations/%s",
	"HelmRelease":    "/apis/helm.toolkit.fluxcd.io/v2/namespaces/%s/helmreleases/%s",
}

// object has the relevant fields of one of Flux's objects.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Generation      int64
		Annotations     map[string]string
	}
	Status struct {
		ObservedGeneration     int64
		LastHandledReconcileAt string
		LastAppliedRevision    string // of a Kustomization, like the next field
		LastAttemptedRevision  string
		Artifact               struct{ Revision string }
		Conditions             []condition
	}
}

type condition struct {
	Type, Status, Reason, Message string
	ObservedGeneration            int64
}

// Poke requests an immediate reconciliation of one of Flux's objects. Ready
// then waits for it.
func (f *Flux) Poke(ctx context.Context, kind, namespace, name string) error {
	_, err := f.request(ctx, http.MethodPatch, kind, namespace, name,
		fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, requestedAt, strconv.FormatInt(time.Now().UnixNano(), 10)))
	return err
}

// Ready waits until Flux has reconciled the current generation of an object,
// after the last poke, at a revision that contains the given one. The error has
// the status of all of Flux's objects.
func (f *Flux) Ready(ctx context.Context, kind, namespace, name, revision string) error {
	return f.wait(ctx, kind+" "+namespace+"/"+name+" is ready", func(ctx context.Context) error {
		o, err := f.get(ctx, kind, namespace, name)
		return cmp.Or(err, o.ready(revision))
	})
}

// Reconciled waits like Ready for all Kustomizations of the cluster.
func (f *Flux) Reconciled(ctx context.Context, revision string) error {
	return f.wait(ctx, "all Kustomizations are ready", func(ctx context.Context) error {
		all, err := f.list(ctx, "Kustomization")
		if err == nil && len(all) == 0 {
			err = errors.New("there are none")
		}
		for _, o := range all {
			err = errors.Join(err, o.ready(revision))
		}
		return err
	})
}

// Fails waits until Flux failed to apply a revision of a Kustomization.
func (f *Flux) Fails(ctx context.Context, namespace, name, revision string) error {
	return f.wait(ctx, "Kustomization "+namespace+"/"+name+" fails", func(ctx context.Context) error {
		o, err := f.get(ctx, "Kustomization", namespace, name)
		if err == nil && (!strings.Contains(o.Status.LastAttemptedRevision, revision) || !o.has("Ready", "False")) {
			err = fmt.Errorf("it has tried %s, with the conditions %v", o.Status.LastAttemptedRevision, o.Status.Conditions)
		}
		return err
	})
}

// wait waits for a condition.
func (f *Flux) wait(ctx context.Context, what string, so func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	err := clusters.Poll(ctx, what+" in "+f.Cluster.Name, f.Cluster.Err, so)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, f.Explain(context.WithoutCancel(ctx)))
	}
	return nil
}

// ready returns the reason why the object is not ready.
func (o *object) ready(revision string) error {
	var why string
	current := o.Status.LastAppliedRevision + o.Status.Artifact.Revision
	switch at := o.Metadata.Annotations[requestedAt]; {
	case at != o.Status.LastHandledReconcileAt:
		why = fmt.Sprintf("was poked at %s, and last handled %s", at, o.Status.LastHandledReconcileAt)
	case o.Status.ObservedGeneration != o.Metadata.Generation:
		why = fmt.Sprintf("is of generation %d, and seen is %d", o.Metadata.Generation, o.Status.ObservedGeneration)
	case !strings.Contains(current, revision):
		why = fmt.Sprintf("has revision %s, not %s", current, revision)
	case !o.has("Ready", "True"):
		why = fmt.Sprintf("has the conditions %v", o.Status.Conditions)
	default:
		return nil
	}
	return fmt.Errorf("%s %s/%s %s", o.Kind, o.Metadata.Namespace, o.Metadata.Name, why)
}

// has reports whether a condition has the status for the current generation.
func (o *object) has(condition, status string) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == condition && c.Status == status && c.ObservedGeneration == o.Metadata.Generation {
			return true
		}
	}
	return false
}

func (f *Flux) get(ctx context.Context, kind, namespace, name string) (o object, err error) {
	text, err := f.request(ctx, http.MethodGet, kind, namespace, name, "")
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o)
}

// list returns the objects of a kind in all namespaces.
func (f *Flux) list(ctx context.Context, kind string) ([]object, error) {
	all := strings.Replace(strings.TrimSuffix(resources[kind], "/%s"), "/namespaces/%s", "", 1)
	status, answer, err := f.Cluster.Do(ctx, http.MethodGet, all, "application/json", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	var list struct{ Items []object }
	err = json.Unmarshal(answer, &list)
	for i := range list.Items {
		list.Items[i].Kind = kind // lists lack the kind
	}
	return list.Items, err
}

// request sends a request about one of Flux's objects.
func (f *Flux) request(ctx context.Context, method, kind, namespace, name, body string) ([]byte, error) {
	path := resources[kind]
	if path == "" {
		return nil, fmt.Errorf("Flux has no %s", kind)
	}
	status, answer, err := f.Cluster.Do(ctx, method, fmt.Sprintf(path, namespace, name), "application/merge-patch+json", []byte(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s %s/%s: %w", method, kind, namespace, name, err)
	}
	return answer, nil
}

// Explain returns the status of all of Flux's objects in the cluster, and the
// last log lines of its controllers.
func (f *Flux) Explain(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(resources)) {
		all, err := f.list(ctx, kind)
		if err != nil {
			fmt.Fprintln(&b, err)
		}
		for _, o := range all {
			fmt.Fprintf(&b, "%s %s/%s: generation %d, seen %d, revision %s%s\n", kind, o.Metadata.Namespace, o.Metadata.Name,
				o.Metadata.Generation, o.Status.ObservedGeneration, o.Status.Artifact.Revision, o.Status.LastAppliedRevision)
			for _, c := range o.Status.Conditions {
				fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
			}
		}
	}
	for _, program := range controllers {
		fmt.Fprintf(&b, "%s:\n%s\n", program, lastLines(filepath.Join(f.Cluster.Dir, program+".log"), 15))
	}
	return b.String()
}
