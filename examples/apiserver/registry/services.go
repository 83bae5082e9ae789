package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// The ports of the nodes that services get.
const firstNodePort, lastNodePort = 30000, 32767

// claims are what no other object may have at the same time.
func (t Target) claims(o kinds.Object) []string {
	if t.Kind.Claims == nil {
		return nil
	}
	return t.Kind.Claims(o)
}

// allocate gives a service the addresses and ports that it lacks, and refuses those that it may not have. They are
// its own only once the claims have been stored with it: who comes too late is told to try again. old is nil when the
// service is new. Other kinds have nothing of that sort.
func (r *Registry) allocate(ctx context.Context, t Target, next, old kinds.Object) error {
	s, ok := next.(*corev1.Service)
	if !ok {
		return nil
	}
	before, _ := old.(*corev1.Service)
	if errs := r.allocateIP(ctx, t, s, before); errs != nil {
		return t.refused(errs)
	}
	if errs := r.allocatePorts(ctx, t, s, before); errs != nil {
		return t.refused(errs)
	}
	return nil
}

// refused is the answer to what could not be allocated.
func (t Target) refused(err error) error {
	if invalid := (*field.Error)(nil); errors.As(err, &invalid) {
		return t.invalid(field.ErrorList{invalid})
	}
	return err
}

// taken returns what others have of the claims with that prefix.
func (r *Registry) taken(ctx context.Context, t Target, prefix string) (sets.Set[string], error) {
	claims, err := r.store.Claims(ctx, prefix, t.key())
	return sets.New(claims...), err
}

func (r *Registry) allocateIP(ctx context.Context, t Target, s, old *corev1.Service) error {
	if err := r.families(s); err != nil || !kinds.HasClusterIP(s) {
		return err
	}
	if old != nil && kinds.HasClusterIP(old) && old.Spec.ClusterIP != "" {
		return nil // it has one, which never changes
	}
	taken, err := r.taken(ctx, t, kinds.ClaimedIPs)
	if err != nil {
		return err
	}
	path, all := field.NewPath("spec", "clusterIPs"), r.options.ServiceIPs
	if s.Spec.ClusterIP == "" {
		ip, ok := freeIP(all, taken)
		if !ok {
			return apierrors.NewInternalError(errors.New("failed to allocate a serviceIP: range is full"))
		}
		s.Spec.ClusterIP, s.Spec.ClusterIPs = ip, []string{ip}
		return nil
	}
	if len(s.Spec.ClusterIPs) > 1 {
		return field.Invalid(path, s.Spec.ClusterIPs, "may only hold one value on a cluster of one family")
	}
	asked, problem := s.Spec.ClusterIP, ""
	switch ip, err := netip.ParseAddr(asked); {
	case err != nil || ip.String() != asked:
		return field.Invalid(path.Index(0), asked, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
	case !all.Contains(ip):
		problem = fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", asked, all)
	case taken.Has(asked):
		problem = "provided IP is already allocated"
	default:
		return nil
	}
	return field.Invalid(path, s.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: %s", asked, problem))
}

// families says of which families the addresses are: there is one, that of the range.
func (r *Registry) families(s *corev1.Service) error {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	family, other := corev1.IPv4Protocol, corev1.IPv6Protocol
	if r.options.ServiceIPs.Addr().Is6() {
		family, other = other, family
	}
	headless := s.Spec.ClusterIP == corev1.ClusterIPNone && len(s.Spec.Selector) == 0
	if s.Spec.IPFamilyPolicy == nil && headless {
		// Whoever writes the endpoints may have addresses of both.
		s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		s.Spec.IPFamilies = []corev1.IPFamily{family, other}
	}
	for i, f := range s.Spec.IPFamilies {
		if f != family && !headless {
			return field.Invalid(field.NewPath("spec", "ipFamilies").Index(i), f, "not configured on this cluster")
		}
	}
	if p := s.Spec.IPFamilyPolicy; p == nil {
		s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
	} else if *p == corev1.IPFamilyPolicyRequireDualStack && !headless {
		return field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), *p, "this cluster is not configured for dual-stack services")
	}
	if len(s.Spec.IPFamilies) == 0 {
		s.Spec.IPFamilies = []corev1.IPFamily{family}
	}
	return nil
}

// freeIP finds an address that nobody has: the first free one behind a random place, so that an address that was given
// up is not given away at once.
func freeIP(all netip.Prefix, taken sets.Set[string]) (string, bool) {
	first, size := all.Addr(), uint64(1)<<min(all.Addr().BitLen()-all.Bits(), 16)
	start := rand.Uint64N(size)
	for i := range size {
		n := (start + i) % size
		ip := plus(first, n)
		if n > 0 && n < size-1 && !taken.Has(ip.String()) {
			return ip.String(), true
		}
	}
	return "", false
}

// plus returns the address that is n, of at most 16 bits, behind one whose last 16 bits have room for it.
func plus(ip netip.Addr, n uint64) netip.Addr {
	bytes := ip.AsSlice()
	for i := len(bytes) - 1; n > 0; i-- {
		n += uint64(bytes[i])
		bytes[i], n = byte(n), n>>8
	}
	sum, _ := netip.AddrFromSlice(bytes)
	return sum
}

func (r *Registry) allocatePorts(ctx context.Context, t Target, s, old *corev1.Service) error {
	own := sets.New[int32]()
	if old != nil {
		for _, p := range old.Spec.Ports {
			own.Insert(p.NodePort)
		}
	}
	missing := func(p corev1.ServicePort) bool {
		return p.NodePort == 0 && kinds.HasNodePorts(s) || p.NodePort != 0 && !own.Has(p.NodePort)
	}
	var taken sets.Set[string]
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if !missing(*p) {
			continue
		}
		var err error
		if taken == nil {
			taken, err = r.taken(ctx, t, kinds.ClaimedPorts)
		}
		if err == nil {
			err = allocatePort(p, field.NewPath("spec", "ports").Index(i).Child("nodePort"), s.Spec.Ports, taken)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func allocatePort(p *corev1.ServicePort, path *field.Path, all []corev1.ServicePort, taken sets.Set[string]) error {
	name := func(port int32) string { return strconv.Itoa(int(port)) }
	switch port := p.NodePort; {
	case port != 0 && (port < firstNodePort || port > lastNodePort):
		return field.Invalid(path, port, fmt.Sprintf(
			"provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort))
	case port != 0 && taken.Has(name(port)):
		return field.Invalid(path, port, "provided port is already allocated")
	case port != 0:
		return nil
	}
	used := taken.Clone()
	for _, other := range all {
		used.Insert(name(other.NodePort))
	}
	const size = lastNodePort - firstNodePort + 1
	start := rand.Int32N(size)
	for i := range int32(size) {
		if port := firstNodePort + (start+i)%size; !used.Has(name(port)) {
			p.NodePort = port
			return nil
		}
	}
	return apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
}
