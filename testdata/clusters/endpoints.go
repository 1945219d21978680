package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// dialTimeout is for a connection to a kubelet or a pod.
const dialTimeout = 5 * time.Second

// service is the necessary part of a Service.
type service struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		ClusterIP string
		Ports     []struct {
			Name string
			Port int
		}
	}
}

// endpointSlice is the necessary part of an EndpointSlice.
type endpointSlice struct {
	Ports []struct {
		Name string
		Port int
	}
	Endpoints []struct {
		Addresses  []string
		Conditions struct{ Ready bool }
	}
}

// endpoint returns the address of a pod that answers for the address of a Service, as
// kube-proxy would choose it.
func (c *Cluster) endpoint(ctx context.Context, address string) (string, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	var services struct{ Items []service }
	if err := c.list(ctx, "/api/v1/services", &services); err != nil {
		return "", err
	}
	for _, s := range services.Items {
		for _, port := range s.Spec.Ports {
			if s.Spec.ClusterIP == host && strconv.Itoa(port.Port) == portText {
				return c.readyEndpoint(ctx, s, port.Name)
			}
		}
	}
	return "", fmt.Errorf("no Service has the address %s", address)
}

// readyEndpoint returns the address of the first ready endpoint of a Service.
func (c *Cluster) readyEndpoint(ctx context.Context, s service, port string) (string, error) {
	var slices struct{ Items []endpointSlice }
	path := "/apis/discovery.k8s.io/v1/namespaces/" + s.Metadata.Namespace + "/endpointslices?labelSelector=kubernetes.io/service-name=" + s.Metadata.Name
	if err := c.list(ctx, path, &slices); err != nil {
		return "", err
	}
	for _, slice := range slices.Items {
		for _, p := range slice.Ports {
			if p.Name != port {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready {
					return net.JoinHostPort(e.Addresses[0], strconv.Itoa(p.Port)), nil
				}
			}
		}
	}
	return "", fmt.Errorf("the Service %s/%s has no ready endpoint", s.Metadata.Namespace, s.Metadata.Name)
}

// list reads a list of objects.
func (c *Cluster) list(ctx context.Context, path string, into any) error {
	status, answer, err := c.Do(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: status %d: %s", path, status, answer)
	}
	return json.Unmarshal(answer, into)
}
