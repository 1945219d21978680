package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// operatedKinds are the custom resources with simulated operators, and the
// conditions that report readiness.
var operatedKinds = []struct {
	path       string
	conditions []string
}{
	{"/apis/cert-manager.io/v1/certificates", []string{"Ready"}},
	{"/apis/cert-manager.io/v1/clusterissuers", []string{"Ready"}},
	{"/apis/cert-manager.io/v1/issuers", []string{"Ready"}},
	{"/apis/monitoring.coreos.com/v1/alertmanagers", []string{"Available", "Reconciled"}},
	{"/apis/monitoring.coreos.com/v1/prometheuses", []string{"Available", "Reconciled"}},
}

// operator simulates the operators of a cluster.
type operator struct {
	cluster *Cluster
	client  *http.Client
	stop    context.CancelFunc
	stopped chan struct{}
}

// operate starts to report custom resources as ready.
func (c *Cluster) operate() error {
	// The audit log leaves out this user agent.
	cert, err := c.ca.client(clients["kwok"], adminGroup)
	if err != nil {
		return err
	}
	client, err := newClient(c.ca.pem, cert)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	o := &operator{cluster: c, client: client, stop: stop, stopped: make(chan struct{})}
	c.operator = o
	go o.run(ctx)
	return nil
}

func (o *operator) close() {
	if o != nil {
		o.stop()
		<-o.stopped
	}
}

func (o *operator) run(ctx context.Context) {
	defer close(o.stopped)
	for {
		for _, kind := range operatedKinds {
			// A cluster may be down, and a kind may not exist yet.
			_ = o.reconcile(ctx, kind.path, kind.conditions)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// customResource is the necessary part of a custom resource.
type customResource struct {
	Metadata struct {
		Name, Namespace string
		Generation      int64
	}
	Status struct {
		Conditions []condition
	}
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
	LastTransitionTime string `json:"lastTransitionTime"`
}

func (o *operator) reconcile(ctx context.Context, path string, conditions []string) error {
	var list struct{ Items []customResource }
	if err := o.do(ctx, http.MethodGet, path, nil, &list); err != nil {
		return err
	}
	for _, item := range list.Items {
		seen := func(name string) bool {
			return slices.ContainsFunc(item.Status.Conditions, func(c condition) bool {
				return c.Type == name && c.ObservedGeneration == item.Metadata.Generation
			})
		}
		if !slices.ContainsFunc(conditions, func(name string) bool { return !seen(name) }) {
			continue
		}
		now := time.Now().UTC().Format(time.RFC3339)
		all := make([]condition, len(conditions))
		for i, name := range conditions {
			all[i] = condition{name, "True", "Played", "nothing runs here", item.Metadata.Generation, now}
		}
		if err := o.do(ctx, http.MethodPatch, pathOf(path, item.Metadata.Namespace, item.Metadata.Name)+"/status",
			map[string]any{"status": map[string]any{"conditions": all}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// pathOf returns the path of an object, given the path of all objects of its kind.
func pathOf(all, namespace, name string) string {
	if namespace == "" {
		return all + "/" + name
	}
	i := len(all) - 1
	for all[i] != '/' {
		i--
	}
	return all[:i] + "/namespaces/" + namespace + all[i:] + "/" + name
}

func (o *operator) do(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	status, answer, err := o.cluster.send(ctx, o.client, method, path, "application/merge-patch+json", text)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
