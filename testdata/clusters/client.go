package clusters

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const maxResponse = 64 << 20

// newClient returns a client that trusts only the authority.
func newClient(ca []byte, user pair) (*http.Client, error) {
	cert, err := tls.X509KeyPair(user.cert, user.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}},
	}}, nil
}

// Do sends a request to the API server as an administrator and returns the status
// and the body. The path begins with a slash and may have a query.
func (c *Cluster) Do(ctx context.Context, method, path, contentType string, body []byte) (status int, answer []byte, err error) {
	return c.send(ctx, c.http, method, path, contentType, body)
}

// send sends a request as the user of a client.
func (c *Cluster) send(ctx context.Context, client *http.Client, method, path, contentType string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	return resp.StatusCode, answer, err
}

const userAgent = "fleetc-clusters"

// fetch gets a page, which must exist.
func fetch(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s\n%s", url, resp.Status, text)
	}
	return err
}

// Poll waits until ready returns nil, which it calls less often the longer it waits: an
// answer takes CPU time that others need. It gives up with ctx, or when failed returns an
// error. Its error includes the text what.
func Poll(ctx context.Context, what string, failed func() error, ready func(context.Context) error) error {
	begin := time.Now()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if err := failed(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w: %w", what, ctx.Err(), err)
		case <-time.After(min(max(50*time.Millisecond, time.Since(begin)/20), time.Second/2)):
		}
	}
}

// waitServer waits until the API server is ready.
func (c *Cluster) waitServer(ctx context.Context, server string) error {
	return Poll(ctx, c.Name+" is ready", c.partError, func(ctx context.Context) error {
		return fetch(ctx, c.http, server+"/readyz")
	})
}

// storageClass is a storage class that kwok provisions.
const storageClass = `{
  "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
  "metadata": {"name": %q, "annotations": {"storageclass.kubernetes.io/is-default-class": "%t"}},
  "provisioner": "kwok.x-k8s.io/volume", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"
}`

const node = `{
  "apiVersion": "v1", "kind": "Node",
  "metadata": {
    "name": %[1]q,
    "labels": {"kubernetes.io/hostname": %[1]q, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok"},
    "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}
  },
  "status": {
    "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"},
    "capacity": {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
  }
}`

// createObjects creates the nodes and other objects that a cluster usually has.
func (c *Cluster) createObjects(ctx context.Context) error {
	type object struct{ path, text string }
	var objects []object
	for i, name := range classes {
		objects = append(objects, object{"/apis/storage.k8s.io/v1/storageclasses", fmt.Sprintf(storageClass, name, i == 0)})
	}
	for i := range c.nodes {
		objects = append(objects, object{"/api/v1/nodes", fmt.Sprintf(node, fmt.Sprintf("node-%d", i+1))})
	}
	for _, o := range objects {
		status, answer, err := c.Do(ctx, http.MethodPost, o.path, "application/json", []byte(o.text))
		if err == nil && status != http.StatusCreated {
			err = fmt.Errorf("status %d: %s", status, answer)
		}
		if err != nil {
			return fmt.Errorf("create in %s%s: %w", c.Name, o.path, err)
		}
	}
	return nil
}

// waitReady waits until pods can be created, scheduled and run.
func (c *Cluster) waitReady(ctx context.Context) error {
	return Poll(ctx, c.Name+" has its nodes and accounts", c.partError, func(ctx context.Context) error {
		if err := fetch(ctx, c.http, c.Server+"/api/v1/namespaces/default/serviceaccounts/default"); err != nil {
			return err
		}
		_, answer, err := c.Do(ctx, http.MethodGet, "/api/v1/nodes", "application/json", nil)
		if err != nil {
			return err
		}
		var list struct {
			Items []struct {
				Spec struct {
					Taints []struct{ Key string }
				}
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := json.Unmarshal(answer, &list); err != nil {
			return err
		}
		ready := 0
		for _, n := range list.Items {
			unusable := slices.ContainsFunc(n.Spec.Taints, func(t struct{ Key string }) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
			for _, condition := range n.Status.Conditions {
				if condition.Type == "Ready" && condition.Status == "True" && !unusable {
					ready++
				}
			}
		}
		if ready < c.nodes+c.realNodes {
			return fmt.Errorf("%d of %d nodes are ready", ready, c.nodes+c.realNodes)
		}
		return nil
	})
}
