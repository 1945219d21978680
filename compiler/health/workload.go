package health

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A rollout is how far a controller is with its pods.
type rollout struct {
	want      int64
	exist     int64
	updated   int64 // of the last version
	outdated  int64 // of how many the last version need not be
	ready     int64
	available int64 // ready for as long as is asked
}

// verdict says how far it is. What is missing first is told.
func (r rollout) verdict(u *unstructured.Unstructured) Verdict {
	of := func(n int64, what string) Verdict {
		reason := fmt.Sprintf("%d of %s %s", n, count(r.want, "pod"), what)
		if r.want == 1 {
			reason = fmt.Sprintf("its pod is not %s", map[string]string{
				"exist": "there", "are up to date": "up to date", "are ready": "ready", "are available": "available",
			}[what])
		}
		// A quota or an admission plugin keeps pods from existing.
		if c, found := conditionOf(u, "ReplicaFailure"); found && c.is("True") {
			reason += c.why()
		}
		return Verdict{InProgress, reason}
	}
	switch {
	case r.exist < r.want:
		return of(max(0, r.exist), "exist")
	case r.updated < r.want-r.outdated:
		return of(max(0, r.updated), "are up to date")
	case r.exist > r.want:
		return Verdict{InProgress, count(r.exist-r.want, "pod") + " too many"}
	case r.ready < r.want:
		return of(max(0, r.ready), "are ready")
	case r.available < r.want:
		return of(max(0, r.available), "are available")
	case r.want == 1:
		return Verdict{Ready, "its pod is ready"}
	}
	return Verdict{Ready, fmt.Sprintf("%d of %s are ready", r.ready, count(r.want, "pod"))}
}

func deployment(u *unstructured.Unstructured) Verdict {
	if v, ok := unseen(u); ok {
		return v
	}
	r := rollout{
		want: number(u, 1, "spec", "replicas"), exist: number(u, 0, "status", "replicas"), updated: number(u, 0, "status", "updatedReplicas"),
		ready: number(u, 0, "status", "readyReplicas"), available: number(u, 0, "status", "availableReplicas"),
	}
	v := r.verdict(u)
	if v.State == Ready {
		return v
	}
	if paused, _ := at(u, "spec", "paused").(bool); paused {
		return Verdict{Ready, "it is paused, so its rollout is not waited for"}
	}
	if c, found := conditionOf(u, "Progressing"); found && c.reason == "ProgressDeadlineExceeded" {
		return Verdict{Failed, fmt.Sprintf("%s, and there was no progress for %d s", v.Reason, number(u, 600, "spec", "progressDeadlineSeconds"))}
	}
	return v
}

func statefulSet(u *unstructured.Unstructured) Verdict {
	if v, ok := unseen(u); ok {
		return v
	}
	r := rollout{
		want: number(u, 1, "spec", "replicas"), exist: number(u, 0, "status", "replicas"), updated: number(u, 0, "status", "updatedReplicas"),
		ready: number(u, 0, "status", "readyReplicas"),
	}
	r.available = number(u, r.ready, "status", "availableReplicas")
	r.outdated = number(u, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	if text(u, "spec", "updateStrategy", "type") == "OnDelete" {
		r.outdated = r.want // until a person deletes them
	}
	return r.verdict(u)
}

func daemonSet(u *unstructured.Unstructured) Verdict {
	if v, ok := unseen(u); ok {
		return v
	}
	r := rollout{
		want: number(u, 0, "status", "desiredNumberScheduled"), exist: number(u, 0, "status", "currentNumberScheduled"),
		updated: number(u, 0, "status", "updatedNumberScheduled"),
		ready:   number(u, 0, "status", "numberReady"), available: number(u, 0, "status", "numberAvailable"),
	}
	r.exist = min(r.exist, r.want) // those on nodes that it is not for do not count
	if text(u, "spec", "updateStrategy", "type") == "OnDelete" {
		r.outdated = r.want
	}
	if r.want == 0 {
		return Verdict{Ready, "no node wants its pods"}
	}
	return r.verdict(u)
}

func replicaSet(u *unstructured.Unstructured) Verdict {
	if v, ok := unseen(u); ok {
		return v
	}
	r := rollout{
		want: number(u, 1, "spec", "replicas"), exist: number(u, 0, "status", "replicas"),
		ready: number(u, 0, "status", "readyReplicas"), available: number(u, 0, "status", "availableReplicas"),
	}
	r.updated = r.exist
	return r.verdict(u)
}

// job takes a Job as ready once it is complete: what comes after a migration
// needs its result, not its start.
func job(u *unstructured.Unstructured) Verdict {
	for _, kind := range []string{"Complete", "Failed", "FailureTarget"} {
		c, found := conditionOf(u, kind)
		switch {
		case !found || !c.is("True"):
		case kind == "Complete":
			return Verdict{Ready, "it is complete"}
		default:
			return Verdict{Failed, "it failed" + c.why()}
		}
	}
	succeeded, failed := number(u, 0, "status", "succeeded"), number(u, 0, "status", "failed")
	wanted := number(u, number(u, 1, "spec", "parallelism"), "spec", "completions")
	if text(u, "status", "startTime") == "" {
		return Verdict{InProgress, "it has not begun"}
	}
	reason := fmt.Sprintf("%d of %s succeeded", succeeded, count(wanted, "pod"))
	if wanted == 1 {
		reason = "it runs"
	}
	if failed > 0 {
		reason += fmt.Sprintf(", and %s failed", count(failed, "pod"))
	}
	return Verdict{InProgress, reason}
}

// pod takes a pod that cannot be scheduled or whose containers fail again and
// again as one that may still get ready, since both may be waiting for others:
// whoever waits gives up in time.
func pod(u *unstructured.Unstructured) Verdict {
	switch phase := text(u, "status", "phase"); phase {
	case "Succeeded":
		return Verdict{Ready, "it has completed"}
	case "Failed":
		return Verdict{Failed, "it failed" + condition{reason: text(u, "status", "reason"), message: trouble(u)}.why()}
	case "Running":
		if c, found := conditionOf(u, "Ready"); found && c.status == "True" {
			return Verdict{Ready, "it is ready"}
		}
	}
	if problem, final := stuck(u); problem != "" {
		if final {
			return Verdict{Failed, problem}
		}
		return Verdict{InProgress, problem}
	}
	if text(u, "status", "phase") == "Running" {
		return Verdict{InProgress, "it runs, and is not ready"}
	}
	return Verdict{InProgress, "it has not begun"}
}

// trouble is stuck for a pod that is over.
func trouble(u *unstructured.Unstructured) string {
	problem, _ := stuck(u)
	if problem == "" {
		return text(u, "status", "message")
	}
	return problem
}

// stuck says what keeps a pod from getting ready, and whether it stays so; ""
// when nothing is known.
func stuck(u *unstructured.Unstructured) (problem string, final bool) {
	for _, c := range containers(u) {
		if c.problem != "" {
			return "container " + clean(c.name) + ": " + c.problem, c.reason == "InvalidImageName"
		}
	}
	if c, found := conditionOf(u, "PodScheduled"); found && c.status == "False" {
		return "it is on no node" + c.why(), false
	}
	for _, c := range containers(u) {
		if c.running && !c.ready {
			return "container " + clean(c.name) + " runs, and is not ready", false
		}
	}
	return "", false
}

// A container is the state of one of a pod.
type container struct {
	name           string
	problem        string // reason and message; empty when it has none
	reason         string
	running, ready bool
	ended          bool
	restarts       int64
}

// beginning are the reasons for which containers wait when nothing is wrong.
var beginning = []string{"", "ContainerCreating", "PodInitializing"}

// containers returns the states of the containers of a pod, in the order in
// which they start.
func containers(u *unstructured.Unstructured) []container {
	var out []container
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _ := at(u, "status", field).([]any)
		for _, item := range statuses {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			s := &unstructured.Unstructured{Object: m}
			c := container{name: text(s, "name"), restarts: number(s, 0, "restartCount")}
			c.ready, _ = at(s, "ready").(bool)
			c.running = at(s, "state", "running") != nil
			c.ended = at(s, "state", "terminated") != nil
			waiting := text(s, "state", "waiting", "reason")
			switch code := number(s, 0, "state", "terminated", "exitCode"); {
			case !slices.Contains(beginning, waiting):
				c.reason = waiting
				c.problem = clean(waiting) + condition{message: text(s, "state", "waiting", "message")}.why() + ended(s, "lastState")
			case code != 0:
				c.reason = text(s, "state", "terminated", "reason")
				c.problem = "it" + ended(s, "state")[len(", and"):]
			}
			out = append(out, c)
		}
	}
	return out
}

// ended says how a container ended; "" when it did not.
func ended(status *unstructured.Unstructured, state string) string {
	code, ok := whole(at(status, state, "terminated", "exitCode"))
	if !ok || code == 0 {
		return ""
	}
	return fmt.Sprintf(", and ended with status %d", code) +
		condition{reason: text(status, state, "terminated", "reason"), message: text(status, state, "terminated", "message")}.why()
}
