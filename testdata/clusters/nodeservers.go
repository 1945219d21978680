package clusters

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

// ServePods starts what pods of the real nodes can reach, and returns its address, which
// belongs to the names that a pod uses (hostAliases): pods have no DNS, and nothing
// forwards the addresses of Services. Port 443 is the API server, as at the address of
// the Service kubernetes. The handler answers at the other port by HTTPS. The authority
// of the cluster has signed its certificate for any name. Both end with the nodes.
func (c *Cluster) ServePods(port int, handler http.Handler) (address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.real) == 0 {
		return "", errors.New(c.Name + " has no real nodes")
	}
	n := c.real[0]
	server, err := net.Listen("tcp4", net.JoinHostPort(n.hostAddress(), "443"))
	if err != nil {
		return "", err
	}
	n.servers = append(n.servers, server)
	go forward(server, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)))
	l, err := net.Listen("tcp4", net.JoinHostPort(n.hostAddress(), strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	certs := &certificates{ca: c.ca, byName: map[string]*tls.Certificate{}}
	s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)} // pods are killed while they connect
	n.servers = append(n.servers, s)
	go s.Serve(tls.NewListener(l, &tls.Config{GetCertificate: certs.get})) // until it is closed
	return n.hostAddress(), nil
}
