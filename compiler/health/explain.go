package health

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// A Reader reads a cluster.
type Reader interface {
	// List returns the objects of a kind in a namespace that have the labels that
	// a selector asks for; all when it is empty.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error)
	// Logs returns the last lines that a container wrote; previous is the one
	// that ran before, and ended.
	Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int) ([]byte, error)
}

// An Explainer says why objects are not ready.
type Explainer struct {
	Reader Reader
	Hide   func(string) string // takes out of texts what is not shown, see [Hider]; nil for all as it is
}

// An Explanation says why an object is not ready.
type Explanation struct {
	Chain  []string // from the object to what holds it up: Deployment.apps shop/web, pod web-abc, container app: ImagePullBackOff
	Events []string // the last that tell of trouble, oldest first
	Logs   []string // the last lines of the container at the end of the chain
	Unread []string // what could not be read, and why
}

// String returns the chain as one line.
func (e Explanation) String() string { return strings.Join(e.Chain, ": ") }

// Bounds of an explanation.
const (
	maxEvents   = 5
	maxLogLines = 10
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
)

// Explain looks for what keeps an object, which is as the cluster has it, from
// getting ready; v is the verdict on it. For the same answers of the Reader, the
// explanation is the same.
func (x *Explainer) Explain(ctx context.Context, o fleet.Object, v Verdict) Explanation {
	s := &search{Reader: x.Reader, ctx: ctx, hide: x.Hide, inNamespace: map[string][]*unstructured.Unstructured{}}
	if s.hide == nil {
		s.hide = Hider(nil)
	}
	s.found.Chain = []string{o.Title(), v.Reason}
	if o.Unstructured != nil && o.Object != nil {
		s.object(s.hidden(o.Unstructured))
	}
	e := &s.found
	if len(s.events) == 0 {
		s.events = s.calm // rather than nothing
	}
	e.Events = s.last()
	for i := range e.Chain {
		e.Chain[i] = s.hide(e.Chain[i])
	}
	return *e
}

// A search is on the way to an explanation.
type search struct {
	Reader
	ctx          context.Context // of the one call that searches
	hide         func(string) string
	found        Explanation
	inNamespace  map[string][]*unstructured.Unstructured // events
	events, calm []event                                 // warnings, and others
}

// object follows the object down to what holds it up.
func (s *search) object(u *unstructured.Unstructured) {
	s.readEvents(u)
	if u.GroupVersionKind() == podKind {
		s.pod(u)
		return
	}
	owner := u
	if u.GetKind() == "Deployment" {
		sets := s.owned(replicaSetKind, u)
		if len(sets) == 0 {
			return
		}
		owner = slices.MaxFunc(sets, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(revision(a), revision(b)), cmp.Compare(b.GetName(), a.GetName()))
		})
		s.readEvents(owner)
	}
	var waiting []*unstructured.Unstructured
	for _, p := range s.owned(podKind, owner) {
		if v := pod(p); v.State != Ready {
			waiting = append(waiting, p)
		}
	}
	if len(waiting) == 0 {
		return
	}
	slices.SortFunc(waiting, comparePods)
	worst := waiting[0]
	name := "pod " + clean(worst.GetName())
	if n := len(waiting) - 1; n > 0 {
		name += fmt.Sprintf(" (and %d more)", n)
	}
	s.found.Chain = []string{s.found.Chain[0], name, pod(worst).Reason}
	s.readEvents(worst)
	s.pod(worst)
}

// revision returns the number of a ReplicaSet among those of its Deployment.
func revision(u *unstructured.Unstructured) (n int64) {
	_, _ = fmt.Sscan(u.GetAnnotations()["deployment.kubernetes.io/revision"], &n)
	return n
}

// comparePods puts the pod in front that tells most: one that failed, one whose
// container is in trouble, the newest.
func comparePods(a, b *unstructured.Unstructured) int {
	rank := func(u *unstructured.Unstructured) int {
		switch problem, _ := stuck(u); {
		case pod(u).State == Failed:
			return 0
		case problem != "":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)),
		b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// pod reads the last lines of the container that holds up a pod, if it has run.
func (s *search) pod(u *unstructured.Unstructured) {
	for _, c := range containers(u) {
		if c.problem == "" && !(c.running && !c.ready) {
			continue
		}
		ran := c.running || c.restarts > 0 || c.ended
		if !ran {
			return
		}
		data, err := s.Logs(s.ctx, u.GetNamespace(), u.GetName(), c.name, !c.running && !c.ended, maxLogLines)
		if err != nil {
			s.unread("the logs of container "+c.name, err)
			return
		}
		lines := strings.Split(strings.TrimRight(s.hide(string(data)), "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-maxLogLines):] {
			if line = clean(line); line != "" {
				s.found.Logs = append(s.found.Logs, line)
			}
		}
		return
	}
}

func (s *search) unread(what string, err error) {
	s.found.Unread = append(s.found.Unread, clean(what+": "+err.Error()))
}

// owned returns the objects of a kind that an object controls.
func (s *search) owned(kind schema.GroupVersionKind, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	selector, ok := selectorOf(owner)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(s.list(kind, owner.GetNamespace(), selector), func(u *unstructured.Unstructured) bool {
		c := metav1.GetControllerOf(u)
		return c == nil || c.UID != owner.GetUID()
	})
}

// list returns objects without what is to be hidden.
func (s *search) list(kind schema.GroupVersionKind, namespace, selector string) []*unstructured.Unstructured {
	all, err := s.List(s.ctx, kind, namespace, selector)
	if err != nil {
		s.unread(strings.ToLower(kind.Kind)+"s", err)
	}
	var out []*unstructured.Unstructured
	for i := range all {
		out = append(out, s.hidden(&all[i]))
	}
	return out
}

// hidden returns an object whose status, or the message of an event, is without
// what is to be hidden, before any text of it is cut.
func (s *search) hidden(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := maps.Clone(u.Object)
	for _, field := range []string{"status", "message"} {
		if v, ok := out[field]; ok {
			out[field] = s.without(v)
		}
	}
	return &unstructured.Unstructured{Object: out}
}

// without returns a value without the texts that are to be hidden.
func (s *search) without(v any) any {
	switch v := v.(type) {
	case string:
		return s.hide(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.without(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = s.without(v[k])
		}
		if name, ok := v["name"]; ok {
			out["name"] = name // of a container, by which its logs are asked for
		}
		return out
	}
	return v
}

// selectorOf returns the selector of a controller of pods.
func selectorOf(u *unstructured.Unstructured) (string, bool) {
	raw, ok := at(u, "spec", "selector").(map[string]any)
	if !ok {
		return "", false
	}
	var s metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &s) != nil {
		return "", false
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil || selector.Empty() {
		return "", false
	}
	return selector.String(), true
}

// An event is one of a cluster's.
type event struct {
	at   time.Time
	text string
}

// readEvents reads the events of an object.
func (s *search) readEvents(u *unstructured.Unstructured) {
	if u.GetUID() == "" {
		return
	}
	namespace := cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)
	all, read := s.inNamespace[namespace]
	if !read {
		all = s.list(eventKind, namespace, "")
		s.inNamespace[namespace] = all
	}
	for _, e := range all {
		if text(e, "involvedObject", "uid") != string(u.GetUID()) {
			continue
		}
		found := event{text: clean(u.GetKind()+" "+u.GetName()) + condition{reason: text(e, "reason"), message: text(e, "message")}.why()}
		times := max(number(e, 1, "count"), number(e, 1, "series", "count"))
		if times > 1 {
			found.text += fmt.Sprintf(" (%d times)", times)
		}
		for _, field := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"metadata", "creationTimestamp"}} {
			var err error
			if found.at, err = time.Parse(time.RFC3339, text(e, field...)); err == nil {
				break
			}
		}
		if text(e, "type") == "Warning" {
			s.events = append(s.events, found)
		} else {
			s.calm = append(s.calm, found)
		}
	}
}

// last returns the last events, each text once.
func (s *search) last() []string {
	slices.SortFunc(s.events, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.text, b.text)) })
	var out []string
	for _, e := range slices.Backward(s.events) {
		if len(out) < maxEvents && !slices.Contains(out, e.text) {
			out = append(out, e.text)
		}
	}
	slices.Reverse(out)
	return out
}

// minHidden is the length of the shortest text that is hidden, in bytes: what is
// shorter is in many words.
const minHidden = 4

// Hider returns a function that takes texts, such as the values of Secrets, and
// their lines out of others. Those of less than four bytes are left.
func Hider(texts []string) func(string) string {
	var hidden []string
	for _, t := range texts {
		for _, part := range append(strings.Split(t, "\n"), t) {
			if part = strings.TrimSpace(part); len(part) >= minHidden {
				hidden = append(hidden, part)
			}
		}
	}
	// The longest is taken where several begin.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, h := range slices.Compact(hidden) {
		pairs = append(pairs, h, "(hidden)")
	}
	return strings.NewReplacer(pairs...).Replace
}
