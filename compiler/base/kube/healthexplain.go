package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An ObjectReader reads objects and logs of a cluster.
type ObjectReader interface {
	// List returns the objects of a kind in a namespace that match a label
	// selector; all when it is empty.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error)
	// Logs returns the last lines of a container's log; previous selects the last
	// terminated container.
	Logs(ctx context.Context, namespace, pod, container string, previous bool, lines int) ([]byte, error)
}

// An Explainer explains why objects are not ready.
type Explainer struct {
	Reader ObjectReader
	Hide   func(string) string // removes secrets from texts, see [SecretHider]; may be nil
}

// An Explanation says why an object is not ready.
type Explanation struct {
	Chain  []string // from the object to the cause: Deployment.apps shop/web, pod web-abc, container app: ImagePullBackOff
	Events []string // the last warnings, or other events if there are none, the oldest first
	Logs   []string // the last lines of the container that is the cause
	Unread []string // failed reads, with errors
}

// String returns the chain as one line.
func (e Explanation) String() string { return strings.Join(e.Chain, ": ") }

// Limits of an explanation.
const (
	maxEvents   = 5
	maxLogLines = 10
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
)

// Explain searches for the cause that keeps a live object from getting ready; v is
// its verdict. The result depends only on the responses of the Reader.
func (x *Explainer) Explain(ctx context.Context, o fleet.Object, v HealthVerdict) Explanation {
	s := &search{ObjectReader: x.Reader, ctx: ctx, hide: x.Hide, failed: v.State == HealthFailed, inNamespace: map[string][]*unstructured.Unstructured{}}
	if s.hide == nil {
		s.hide = SecretHider(nil)
	}
	s.out.Chain = []string{o.Title(), v.Reason}
	if o.Unstructured != nil && o.Object != nil {
		s.object(s.redact(o.Unstructured))
	}
	e := &s.out
	if len(s.events) == 0 {
		s.events = s.normalEvents // show other events if there are no warnings
	}
	e.Events = s.lastEvents()
	for i := range e.Chain {
		e.Chain[i] = s.hide(e.Chain[i])
	}
	return *e
}

// A search is the state of one explanation.
type search struct {
	ObjectReader
	ctx                  context.Context // of the call
	hide                 func(string) string
	failed               bool // whether the object has failed
	out                  Explanation
	inNamespace          map[string][]*unstructured.Unstructured // events by namespace
	events, normalEvents []event                                 // warnings, and other events
}

// object searches for the cause of an object's state.
func (s *search) object(u *unstructured.Unstructured) {
	s.readEvents(u)
	if u.GroupVersionKind() == podKind {
		s.pod(u)
		return
	}
	owner := u
	if u.GetKind() == "Deployment" {
		sets := s.controlled(replicaSetKind, u)
		if len(sets) == 0 {
			return
		}
		owner = slices.MaxFunc(sets, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(revision(a), revision(b)), cmp.Compare(b.GetName(), a.GetName()))
		})
		s.readEvents(owner)
	}
	pods := s.controlled(podKind, owner)
	if len(pods) == 0 && s.failed && len(s.out.Unread) == 0 && text(u, "spec", "template", "spec", "restartPolicy") == "OnFailure" {
		s.out.Chain = []string{s.out.Chain[0], "Kubernetes has deleted its pod with the log: restartPolicy Never keeps it"}
	}
	waiting := diag.Filter(pods, func(p *unstructured.Unstructured) bool { return pod(p).State != HealthReady })
	if len(waiting) == 0 {
		return
	}
	slices.SortFunc(waiting, comparePods)
	worst := waiting[0]
	name := "pod " + clean(worst.GetName())
	if n := len(waiting) - 1; n > 0 {
		name += fmt.Sprintf(" (and %d more)", n)
	}
	s.out.Chain = []string{s.out.Chain[0], name, pod(worst).Reason}
	s.readEvents(worst)
	s.pod(worst)
}

// revision returns the revision number of a ReplicaSet of a Deployment.
func revision(u *unstructured.Unstructured) (n int64) {
	_, _ = fmt.Sscan(u.GetAnnotations()["deployment.kubernetes.io/revision"], &n)
	return n
}

// comparePods sorts the most informative pod first: failed pods, pods with a
// failing container, newer pods.
func comparePods(a, b *unstructured.Unstructured) int {
	rank := func(u *unstructured.Unstructured) int {
		switch problem, _ := podProblem(u); {
		case pod(u).State == HealthFailed:
			return 0
		case problem != "":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)),
		b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// pod reads the log of the container that keeps a pod from getting ready.
func (s *search) pod(u *unstructured.Unstructured) {
	for _, c := range containers(u) {
		if c.problem == "" && !(c.running && !c.ready) {
			continue
		}
		if ran := c.running || c.restarts > 0 || c.ended; !ran {
			return
		}
		log, err := s.containerLog(u, c)
		if err != nil {
			s.addUnread("the logs of container "+c.name, err)
			return
		}
		lines := strings.Split(strings.TrimRight(s.hide(log), "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-maxLogLines):] {
			if line = clean(line); line != "" {
				s.out.Logs = append(s.out.Logs, line)
			}
		}
		return
	}
}

// noLog matches the answer of a kubelet, with status 200, for a container that it has
// removed: GetContainerLogs in pkg/kubelet/kuberuntime of Kubernetes.
var noLog = regexp.MustCompile(`^unable to retrieve container logs for \S+\s*$`)

// errLogRemoved is the error for a log that the node has removed.
var errLogRemoved = errors.New("the node has removed them")

// containerLog returns the log of the container that failed. A container that fails
// again after its status was read is the current one by then, and the node may have
// removed the previous one: if its log cannot be read, the other one's is returned.
func (s *search) containerLog(u *unstructured.Unstructured, c container) (string, error) {
	// The log of a container that failed and runs again may only have its start.
	previous := !c.running && !c.ended || c.running && c.lastEnd != ""
	var first error
	for _, previous := range []bool{previous, !previous} {
		data, err := s.Logs(s.ctx, u.GetNamespace(), u.GetName(), c.name, previous, maxLogLines)
		if err == nil && noLog.Match(data) {
			err = errLogRemoved
		}
		if err == nil {
			return string(data), nil
		}
		first = cmp.Or(first, err)
	}
	return "", first
}

func (s *search) addUnread(what string, err error) {
	s.out.Unread = append(s.out.Unread, clean(what+": "+err.Error()))
}

// controlled returns the objects of a kind that an object controls.
func (s *search) controlled(kind schema.GroupVersionKind, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	selector, ok := selectorOf(owner)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(s.list(kind, owner.GetNamespace(), selector), func(u *unstructured.Unstructured) bool {
		c := metav1.GetControllerOf(u)
		return c == nil || c.UID != owner.GetUID()
	})
}

// list lists objects without secrets in their status and messages.
func (s *search) list(kind schema.GroupVersionKind, namespace, selector string) []*unstructured.Unstructured {
	all, err := s.List(s.ctx, kind, namespace, selector)
	if err != nil {
		s.addUnread(strings.ToLower(kind.Kind)+"s", err)
	}
	var out []*unstructured.Unstructured
	for i := range all {
		out = append(out, s.redact(&all[i]))
	}
	return out
}

// redact returns an object without secrets in its status and message. This happens
// before texts are shortened.
func (s *search) redact(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := maps.Clone(u.Object)
	for _, field := range []string{"status", "message"} {
		if v, ok := out[field]; ok {
			out[field] = s.redactValue(v)
		}
	}
	return &unstructured.Unstructured{Object: out}
}

// redactValue returns a value without secrets.
func (s *search) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return s.hide(v)
	case []any:
		return diag.Each(v, s.redactValue)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = s.redactValue(v[k])
		}
		if name, ok := v["name"]; ok {
			out["name"] = name // keep the name of a container, which selects its log
		}
		return out
	}
	return v
}

// selectorOf returns the pod selector of a controller.
func selectorOf(u *unstructured.Unstructured) (string, bool) {
	raw, ok := fieldValue(u, "spec", "selector").(map[string]any)
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

// An event is a Kubernetes event.
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
		found := event{text: clean(u.GetKind()+" "+u.GetName()) + condition{reason: text(e, "reason"), message: text(e, "message")}.detail()}
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
			s.normalEvents = append(s.normalEvents, found)
		}
	}
}

// lastEvents returns the last events, each text once.
func (s *search) lastEvents() []string {
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

// minHidden is the length of the shortest hidden text, in bytes. Shorter texts
// occur in many words.
const minHidden = 4

// SecretHider returns a function that replaces texts, such as the values of Secrets, and
// their lines by "(hidden)", also as Go and JSON quote them. It ignores texts of less
// than four bytes.
func SecretHider(texts []string) func(string) string {
	var hidden []string
	for _, t := range texts {
		for _, part := range append(strings.Split(t, "\n"), t) {
			if part = strings.TrimSpace(part); len(part) >= minHidden {
				inJSON, _ := json.Marshal(part)
				hidden = append(hidden, part)
				for _, quoted := range []string{strconv.Quote(part), string(inJSON)} {
					hidden = append(hidden, quoted[1:len(quoted)-1])
				}
			}
		}
	}
	// The replacer prefers the first pair, so longer texts come first.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, h := range slices.Compact(hidden) {
		pairs = append(pairs, h, "(hidden)")
	}
	return strings.NewReplacer(pairs...).Replace
}
