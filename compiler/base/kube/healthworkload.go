package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A rollout is the progress of a controller of pods.
type rollout struct {
	desired       int64
	existing      int64
	updated       int64 // pods of the last version
	mayBeOutdated int64 // number of pods that may have an older version
	ready         int64
	available     int64 // ready for the required time
}

// verdict returns the verdict on the rollout, by the first missing step.
func (r rollout) verdict(u *unstructured.Unstructured) HealthVerdict {
	of := func(n int64, what string) HealthVerdict {
		reason := fmt.Sprintf("%d of %s %s", n, pods(r.desired), what)
		if r.desired == 1 {
			reason = fmt.Sprintf("its pod is not %s", map[string]string{
				"exist": "there", "are up to date": "up to date", "are ready": "ready", "are available": "available",
			}[what])
		}
		// A quota or an admission plugin may prevent the creation of pods.
		if c, found := conditionOf(u, "ReplicaFailure"); found && c.holds("True") {
			reason += c.detail()
		}
		return HealthVerdict{HealthInProgress, reason}
	}
	switch {
	case r.existing < r.desired:
		return of(max(0, r.existing), "exist")
	case r.updated < r.desired-r.mayBeOutdated:
		return of(max(0, r.updated), "are up to date")
	case r.existing > r.desired:
		return HealthVerdict{HealthInProgress, pods(r.existing-r.desired) + " too many"}
	case r.ready < r.desired:
		return of(max(0, r.ready), "are ready")
	case r.available < r.desired:
		return of(max(0, r.available), "are available")
	case r.desired == 1:
		return HealthVerdict{HealthReady, "its pod is ready"}
	}
	return HealthVerdict{HealthReady, fmt.Sprintf("%d of %s are ready", r.ready, pods(r.desired))}
}

// deploymentVerdict judges a Deployment by its pods and conditions.
func deploymentVerdict(u *unstructured.Unstructured) HealthVerdict {
	r := rollout{
		desired: number(u, 1, "spec", "replicas"), existing: number(u, 0, "status", "replicas"), updated: number(u, 0, "status", "updatedReplicas"),
		ready: number(u, 0, "status", "readyReplicas"), available: number(u, 0, "status", "availableReplicas"),
	}
	v := r.verdict(u)
	if v.State == HealthReady {
		return v
	}
	if paused, _ := fieldValue(u, "spec", "paused").(bool); paused {
		return HealthVerdict{HealthReady, "it is paused"}
	}
	if c, found := conditionOf(u, "Progressing"); found && c.reason == "ProgressDeadlineExceeded" {
		return HealthVerdict{HealthFailed, fmt.Sprintf("%s, and there was no progress for %d s", v.Reason, number(u, 600, "spec", "progressDeadlineSeconds"))}
	}
	return v
}

func statefulSet(u *unstructured.Unstructured) HealthVerdict {
	r := rollout{
		desired: number(u, 1, "spec", "replicas"), existing: number(u, 0, "status", "replicas"), updated: number(u, 0, "status", "updatedReplicas"),
		ready: number(u, 0, "status", "readyReplicas"),
	}
	r.available = number(u, r.ready, "status", "availableReplicas")
	r.mayBeOutdated = number(u, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	if text(u, "spec", "updateStrategy", "type") == "OnDelete" {
		r.mayBeOutdated = r.desired // until a user deletes them
	}
	return r.verdict(u)
}

func daemonSet(u *unstructured.Unstructured) HealthVerdict {
	r := rollout{
		desired: number(u, 0, "status", "desiredNumberScheduled"), existing: number(u, 0, "status", "currentNumberScheduled"),
		updated: number(u, 0, "status", "updatedNumberScheduled"),
		ready:   number(u, 0, "status", "numberReady"), available: number(u, 0, "status", "numberAvailable"),
	}
	r.existing = min(r.existing, r.desired) // pods on wrong nodes do not count
	if text(u, "spec", "updateStrategy", "type") == "OnDelete" {
		r.mayBeOutdated = r.desired
	}
	if r.desired == 0 {
		return HealthVerdict{HealthReady, "no node matches, so it has no pods"}
	}
	return r.verdict(u)
}

func replicaSet(u *unstructured.Unstructured) HealthVerdict {
	r := rollout{
		desired: number(u, 1, "spec", "replicas"), existing: number(u, 0, "status", "replicas"),
		ready: number(u, 0, "status", "readyReplicas"), available: number(u, 0, "status", "availableReplicas"),
	}
	r.updated = r.existing
	return r.verdict(u)
}

// job judges a Job, which is ready when it is complete: its dependents need the
// result of a migration, not its start.
func job(u *unstructured.Unstructured) HealthVerdict {
	for _, kind := range []string{"Complete", "Failed", "FailureTarget"} {
		c, found := conditionOf(u, kind)
		switch {
		case !found || !c.holds("True"):
		case kind == "Complete":
			return HealthVerdict{HealthReady, "it is complete"}
		default:
			return HealthVerdict{HealthFailed, "it failed" + c.detail()}
		}
	}
	succeeded, failed := number(u, 0, "status", "succeeded"), number(u, 0, "status", "failed")
	wanted := number(u, number(u, 1, "spec", "parallelism"), "spec", "completions")
	if text(u, "status", "startTime") == "" {
		return HealthVerdict{HealthInProgress, "it has not started"}
	}
	reason := fmt.Sprintf("%d of %s succeeded", succeeded, pods(wanted))
	if wanted == 1 {
		reason = "it runs"
	}
	if failed > 0 {
		reason += fmt.Sprintf(", and %s failed", pods(failed))
	}
	return HealthVerdict{HealthInProgress, reason}
}

// pod judges a pod. A pod that cannot be scheduled or whose containers crash is in
// progress, since it may wait for other objects; the caller's timeout limits the
// wait.
func pod(u *unstructured.Unstructured) HealthVerdict {
	switch phase := text(u, "status", "phase"); phase {
	case "Succeeded":
		return HealthVerdict{HealthReady, "it has completed"}
	case "Failed":
		return HealthVerdict{HealthFailed, "it failed" + condition{reason: text(u, "status", "reason"), message: failureMessage(u)}.detail()}
	case "Running":
		if c, found := conditionOf(u, "Ready"); found && c.status == "True" {
			return HealthVerdict{HealthReady, "it is ready"}
		}
	}
	if problem, final := podProblem(u); problem != "" {
		if final {
			return HealthVerdict{HealthFailed, problem}
		}
		return HealthVerdict{HealthInProgress, problem}
	}
	if text(u, "status", "phase") == "Running" {
		return HealthVerdict{HealthInProgress, "it runs, but is not ready"}
	}
	return HealthVerdict{HealthInProgress, "it has not started"}
}

// failureMessage is podProblem for a failed pod.
func failureMessage(u *unstructured.Unstructured) string {
	problem, _ := podProblem(u)
	if problem == "" {
		return text(u, "status", "message")
	}
	return problem
}

// podProblem describes what keeps a pod from getting ready, and whether that is
// final; "" when unknown.
func podProblem(u *unstructured.Unstructured) (problem string, final bool) {
	for _, c := range containers(u) {
		if c.problem != "" {
			return "container " + clean(c.name) + ": " + c.problem, c.reason == "InvalidImageName"
		}
	}
	if c, found := conditionOf(u, "PodScheduled"); found && c.status == "False" {
		return "it is on no node" + c.detail(), false
	}
	for _, c := range containers(u) {
		if c.running && !c.ready {
			problem = "container " + clean(c.name) + " runs, but is not ready"
			if c.lastEnd != "" {
				problem += "; before, it" + c.lastEnd
			}
			return problem, false
		}
	}
	return "", false
}

// A container is the state of a container of a pod.
type container struct {
	name           string
	problem        string // reason and message; may be empty
	reason         string
	running, ready bool
	ended          bool
	lastEnd        string // how it failed before its last restart; may be empty
	restarts       int64
}

// startReasons are the reasons of containers that wait without a problem.
var startReasons = []string{"", "ContainerCreating", "PodInitializing"}

// containers returns the states of the containers of a pod, in the order in which
// they start.
func containers(u *unstructured.Unstructured) []container {
	var out []container
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _ := fieldValue(u, "status", field).([]any)
		for _, item := range statuses {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			s := &unstructured.Unstructured{Object: m}
			c := container{name: text(s, "name"), restarts: number(s, 0, "restartCount")}
			c.ready, _ = fieldValue(s, "ready").(bool)
			c.running = fieldValue(s, "state", "running") != nil
			c.ended = fieldValue(s, "state", "terminated") != nil
			c.lastEnd = strings.TrimPrefix(exitText(s, "lastState"), ", and")
			waiting := text(s, "state", "waiting", "reason")
			switch code := number(s, 0, "state", "terminated", "exitCode"); {
			case !slices.Contains(startReasons, waiting):
				c.reason = waiting
				message := condition{message: text(s, "state", "waiting", "message")}.detail()
				if waiting == "CrashLoopBackOff" && c.lastEnd != "" {
					message = "" // it has only IDs, and how long kubelet waits
				}
				c.problem = clean(waiting) + message + exitText(s, "lastState")
			case code != 0:
				c.reason = text(s, "state", "terminated", "reason")
				c.problem = "it" + exitText(s, "state")[len(", and"):]
			}
			out = append(out, c)
		}
	}
	return out
}

// exitText describes how a container exited; "" when it did not fail.
func exitText(status *unstructured.Unstructured, state string) string {
	code, ok := asInt(fieldValue(status, state, "terminated", "exitCode"))
	if !ok || code == 0 {
		return ""
	}
	return fmt.Sprintf(", and ended with status %d", code) +
		condition{reason: text(status, state, "terminated", "reason"), message: text(status, state, "terminated", "message")}.detail()
}
