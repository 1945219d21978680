package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// checkPoll is the pause between two reads of a Job.
const checkPoll = time.Second

// CheckJob runs the Job of a check for a bundle, unless it has run already, and waits until it
// is complete. Several processes may call it at the same time: they wait for one Job.
func CheckJob(ctx context.Context, c *cluster.Cluster, a *fleet.Action, bundle string, timeout time.Duration) error {
	job := jobOf(a, false)
	spec, err := json.Marshal(job.Object)
	if err != nil {
		return err
	}
	job.SetName(fmt.Sprintf("fleetc-%s-%s", a.Name, hexSum(append(spec, bundle...), 6)))
	name := job.GetNamespace() + "/" + job.GetName()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the Job %s is not complete after %s", name, timeout))
	defer cancel()
	for {
		current, err := c.Object(ctx, cluster.RefOf(job))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case current == nil:
			if _, err := c.Apply(ctx, job, cluster.Application{}); err != nil {
				return err
			}
		case !isJobOf(current, a):
			return jobNameTaken(current)
		case isComplete(current):
			return nil
		case isFinished(current):
			return &diag.Diag{Code: diag.CodeActionFailed, Msg: "Job " + name + " failed" + failureOf(current), Hint: "look at its pods; to run it again, delete it"}
		}
		if err := par.Pause(ctx, checkPoll); err != nil {
			return err
		}
	}
}

// failureOf returns the message of the condition Failed, with a leading colon.
func failureOf(job *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if text, _ := condition["message"].(string); condition["type"] == "Failed" && text != "" {
			return ": " + diag.Visible(text, diag.MaxText)
		}
	}
	return ""
}
