package clusters

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

// services connects the API server with Services. If the operators are simulated, it
// answers: webhooks admit everything and change nothing, and aggregated APIs exist
// without resources. The API server trusts it like a public authority, so webhooks must
// not name a CA. Otherwise it connects to the pods of a Service on real nodes.
type services struct {
	cluster  *Cluster
	listener net.Listener
	proxy    *http.Server
	inner    *http.Server
	conns    conns
}

// egressConfig makes the API server reach Services through a socket.
const egressConfig = `{
  "apiVersion": "apiserver.k8s.io/v1beta1",
  "kind": "EgressSelectorConfiguration",
  "egressSelections": [{"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": %q}}}}]
}
`

// serveServices starts to answer at a socket.
func (c *Cluster) serveServices(socket string) (*services, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := &services{cluster: c, listener: l, conns: conns{accepted: make(chan net.Conn), closed: make(chan struct{})}}
	certs := &certificates{ca: c.ca, byName: map[string]*tls.Certificate{}}
	s.proxy = &http.Server{Handler: http.HandlerFunc(s.connect)}
	s.inner = &http.Server{Handler: http.HandlerFunc(handleRequest)}
	go s.proxy.Serve(l) // until it is closed
	go s.inner.Serve(tls.NewListener(&s.conns, &tls.Config{GetCertificate: certs.get}))
	return s, nil
}

func (s *services) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.proxy.Close(), s.inner.Close())
}

// connect opens a connection to a kubelet or to any Service.
func (s *services) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this is a proxy", http.StatusMethodNotAllowed)
		return
	}
	to, err := s.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		closeAll(to)
		return
	}
	if _, err := io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		closeAll(from, to)
		return
	}
	if to != nil {
		pipe(from, to)
		return
	}
	select {
	case s.conns.accepted <- from:
	case <-s.conns.closed:
		from.Close()
	}
}

// dial connects to a kubelet, to a pod on a real node, or to a pod of a Service. It
// returns nil if the answers of Services are simulated.
func (s *services) dial(ctx context.Context, address string) (net.Conn, error) {
	if !strings.HasPrefix(address, nodeNetwork) && !strings.HasPrefix(address, podNetwork) {
		if s.cluster.simulateOperators {
			return nil, nil
		}
		var err error
		if address, err = s.cluster.endpoint(ctx, address); err != nil {
			return nil, err
		}
	}
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp4", address)
}

// closeAll closes the connections that exist.
func closeAll(conns ...net.Conn) {
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}

// conns is a listener for connections that were accepted elsewhere.
type conns struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (c *conns) Accept() (net.Conn, error) {
	select {
	case conn := <-c.accepted:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (c *conns) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Addr implements net.Listener.
func (c *conns) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// certificates creates certificates on demand for any name.
type certificates struct {
	ca     *authority
	mu     sync.Mutex
	byName map[string]*tls.Certificate
}

func (m *certificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := hello.ServerName
	if cert := m.byName[name]; cert != nil {
		return cert, nil
	}
	template := certificate(pkix.Name{CommonName: "service"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if name != "" {
		template.DNSNames = []string{name}
	}
	p, err := m.ca.sign(template)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, err
	}
	m.byName[name] = &cert
	return &cert, nil
}

// handleRequest answers as a webhook or an aggregated API.
func handleRequest(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		version, ok := strings.CutPrefix(r.URL.Path, "/apis/")
		if !ok || strings.Count(version, "/") != 1 {
			http.NotFound(w, r)
			return
		}
		reply(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{}})
		return
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxResponse)).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := map[string]any{"uid": review.Request.UID}
	switch review.Kind {
	case "AdmissionReview":
		response["allowed"] = true
	case "ConversionReview":
		for _, o := range review.Request.Objects {
			o["apiVersion"] = review.Request.DesiredAPIVersion
		}
		response["convertedObjects"], response["result"] = review.Request.Objects, map[string]any{"status": "Success"}
	default:
		http.Error(w, fmt.Sprintf("nobody answers a %q here", review.Kind), http.StatusBadRequest)
		return
	}
	reply(w, map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// startServices connects the API server with the Services of the cluster, and returns
// its flags and environment.
func (c *Cluster) startServices() (flags, env []string, err error) {
	socket, config := c.fleet.file(directoryName(c.Name)+".sock"), c.file("egress.json")
	if c.services == nil {
		if c.services, err = c.serveServices(socket); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(config, fmt.Appendf(nil, egressConfig, socket), 0o600); err != nil {
			return nil, nil, err
		}
	}
	if c.simulateOperators {
		env = []string{"SSL_CERT_FILE=" + c.file("ca.crt")}
	}
	return []string{"--egress-selector-config-file=" + config}, env, nil
}
