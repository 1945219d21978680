package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// argoApplications is the API path of Argo CD's Applications.
const argoApplications = "/apis/argoproj.io/v1alpha1/namespaces/" + ArgoNamespace + "/applications"

// argoRefresh is the annotation that requests an immediate comparison. Argo CD removes
// it.
const argoRefresh = "argocd.argoproj.io/refresh"

// Application has the relevant fields of an Application of Argo CD.
type Application struct {
	Metadata struct {
		Name, UID   string
		Annotations map[string]string
	}
	Status struct {
		Sync           struct{ Status, Revision string }
		Health         struct{ Status, Message string }
		OperationState struct {
			Phase, Message, StartedAt string
			SyncResult                struct {
				Revision  string
				Resources []struct{ Kind, Namespace, Name, Status, Message, HookPhase string }
			}
		}
		Resources  []Resource
		Conditions []struct{ Type, Message string }
	}
}

// Resource is the state of an object of an Application.
type Resource struct {
	Group, Kind, Namespace, Name, Status string
	RequiresPruning                      bool
	Health                               struct{ Status, Message string }
}

// ID returns the name of the object as fleetc prints it.
func (r Resource) ID() string {
	id := r.Kind
	if r.Group != "" {
		id += "." + r.Group
	}
	if r.Namespace != "" {
		return id + " " + r.Namespace + "/" + r.Name
	}
	return id + " " + r.Name
}

// Refresh requests an immediate comparison of an Application with its source.
func (a *ArgoCD) Refresh(ctx context.Context, name string) error {
	return a.patch(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"normal"}}}`, argoRefresh))
}

// Sync requests a sync of an Application, as argocd app sync does. The options are those
// of the Application.
func (a *ArgoCD) Sync(ctx context.Context, name string) error {
	_, text, err := a.Cluster.Do(ctx, http.MethodGet, argoApplications+"/"+name, "application/json", nil)
	if err != nil {
		return err
	}
	var app struct {
		Spec struct {
			SyncPolicy struct{ SyncOptions []string }
		}
	}
	if err := json.Unmarshal(text, &app); err != nil {
		return err
	}
	operation, err := json.Marshal(map[string]any{"operation": map[string]any{
		"initiatedBy": map[string]any{"username": "test"},
		"sync":        map[string]any{"prune": true, "syncOptions": app.Spec.SyncPolicy.SyncOptions},
	}})
	if err != nil {
		return err
	}
	return a.patch(ctx, name, string(operation))
}

func (a *ArgoCD) patch(ctx context.Context, name, body string) error {
	status, answer, err := a.Cluster.Do(ctx, http.MethodPatch, argoApplications+"/"+name, "application/merge-patch+json", []byte(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	if err != nil {
		return fmt.Errorf("patch Application %s: %w", name, err)
	}
	return nil
}

// Applications returns all Applications.
func (a *ArgoCD) Applications(ctx context.Context) ([]Application, error) {
	status, answer, err := a.Cluster.Do(ctx, http.MethodGet, argoApplications, "application/json", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("list Applications: %w", err)
	}
	var list struct{ Items []Application }
	return list.Items, json.Unmarshal(answer, &list)
}

// Application returns one Application.
func (a *ArgoCD) Application(ctx context.Context, name string) (Application, error) {
	all, err := a.Applications(ctx)
	for _, app := range all {
		if app.Metadata.Name == name {
			return app, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no Application %s", name)
	}
	return Application{}, err
}

// Ready refreshes an Application, and waits until it is Synced and Healthy at a revision.
func (a *ArgoCD) Ready(ctx context.Context, name, revision string) error {
	return a.Until(ctx, name, "is Synced and Healthy", func(app Application) error { return app.ready(revision) })
}

// Until refreshes an Application, and waits until it fulfills a condition.
func (a *ArgoCD) Until(ctx context.Context, name, what string, so func(Application) error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	refreshed := false
	err := clusters.Poll(ctx, "Application "+name+" "+what, a.Cluster.Err, func(ctx context.Context) error {
		app, err := a.Application(ctx, name)
		if err != nil {
			return err
		}
		if !refreshed {
			if err := a.Refresh(ctx, name); err != nil {
				return err
			}
			refreshed = true
			return errors.New("it is refreshed")
		}
		if _, waits := app.Metadata.Annotations[argoRefresh]; waits {
			return errors.New("it is not compared yet")
		}
		return so(app)
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, a.Explain(context.WithoutCancel(ctx)))
	}
	return nil
}

// ready returns the reason why the Application is not Synced and Healthy.
func (app *Application) ready(revision string) error {
	s := app.Status
	if s.Sync.Status != "Synced" || s.Health.Status != "Healthy" || s.Sync.Revision != revision || s.OperationState.Phase == "Running" {
		return fmt.Errorf("it is %s and %s at %s, not at %s; operation %s: %s",
			s.Sync.Status, s.Health.Status, s.Sync.Revision, revision, s.OperationState.Phase, s.OperationState.Message)
	}
	return nil
}

// Explain returns the state of all Applications, and the last log lines of Argo CD.
func (a *ArgoCD) Explain(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var b strings.Builder
	all, err := a.Applications(ctx)
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, app := range all {
		s := app.Status
		fmt.Fprintf(&b, "%s: %s at %s, %s %s, operation %s: %s\n", app.Metadata.Name, s.Sync.Status, s.Sync.Revision,
			s.Health.Status, s.Health.Message, s.OperationState.Phase, s.OperationState.Message)
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, "  %s: %s\n", c.Type, c.Message)
		}
		for _, r := range s.Resources {
			if r.Status != "Synced" || r.Health.Status != "" && r.Health.Status != "Healthy" {
				fmt.Fprintf(&b, "  %s: %s, %s %s\n", r.ID(), r.Status, r.Health.Status, r.Health.Message)
			}
		}
		for _, r := range s.OperationState.SyncResult.Resources {
			if r.Status != "Synced" || r.HookPhase != "" && r.HookPhase != "Succeeded" && r.HookPhase != "Running" {
				fmt.Fprintf(&b, "  sync of %s %s/%s: %s %s: %s\n", r.Kind, r.Namespace, r.Name, r.Status, r.HookPhase, r.Message)
			}
		}
	}
	for _, program := range []string{argoRepoServer, argoController, argoSets} {
		fmt.Fprintf(&b, "%s:\n%s\n", program, lastLines(filepath.Join(a.Cluster.Dir, program+".log"), 10))
	}
	return b.String()
}

// lastLines returns the last lines of a file.
func lastLines(file string, n int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
