package sides

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FirstVersion is the version of the first event; what is listed is older.
const FirstVersion = 1_000_000_000

// Pods returns n pods, one after the other in memory, of a hundred namespaces, ten for each owner
// and a hundred on each node.
//
// Each has its struct, name, UID, version and owner reference for itself, which is what stores and
// queues look at. What a pod refers to beyond that, such as its containers, is left out: no stage
// behind the decoder reads it, and the garbage collector, which would have to look at it, costs
// more on the side that allocates more.
func Pods(n int) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		owner := i / 10
		pods[i] = corev1.Pod{
			TypeMeta: metav1.TypeMeta{},
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       "namespace-" + strconv.Itoa(i%100),
				Name:            fmt.Sprintf("deployment-%d-7d4b9c6f5-%05d", owner, i),
				UID:             types.UID(fmt.Sprintf("8f14e45f-ceea-467f-a9d1-%012d", i)),
				ResourceVersion: strconv.Itoa(FirstVersion - 1 - n + i),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("deployment-%d-7d4b9c6f5", owner),
				}},
				Labels: map[string]string{"app": "app-" + strconv.Itoa(owner/10)},
			},
			Spec:   corev1.PodSpec{NodeName: "node-" + strconv.Itoa(i/100)},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
	}
	return pods
}

// Versions returns n versions that follow from one on. They share memory, so that to make them
// costs no garbage.
func Versions(from, n int) []string {
	width := len(strconv.Itoa(from))
	var all strings.Builder
	all.Grow(n * width)
	for v := from; v < from+n; v++ {
		all.WriteString(strconv.Itoa(v))
	}
	versions := make([]string, n)
	for i := range versions {
		versions[i] = all.String()[i*width : (i+1)*width]
	}
	return versions
}
