package json_test

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"time"
)

// The types below have the shapes of the Kubernetes API: what is decoded most.

type typeMeta struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
}

type uid string

type phase string

type resourceName string

type timestamp struct{ time.Time }

func (t *timestamp) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		t.Time = time.Time{}
		return nil
	}
	var text string
	if err := stdjson.Unmarshal(b, &text); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return err
	}
	t.Time = parsed.Local()
	return nil
}

type quantity struct {
	value  int64
	suffix string
	text   string
}

func (q *quantity) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	digits := strings.TrimRight(text, "numkKMGTPEi")
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && text != "null" {
		return err
	}
	*q = quantity{value: value, suffix: text[len(digits):], text: text}
	return nil
}

type intOrString struct {
	Type   int
	IntVal int32
	StrVal string
}

func (v *intOrString) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		v.Type = 1
		return stdjson.Unmarshal(b, &v.StrVal)
	}
	v.Type = 0
	return stdjson.Unmarshal(b, &v.IntVal)
}

type fieldsV1 struct{ Raw []byte }

func (f *fieldsV1) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		f.Raw = append(f.Raw[:0], b...)
	}
	return nil
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                uid    `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

type managedFieldsEntry struct {
	Manager     string     `json:"manager,omitempty"`
	Operation   phase      `json:"operation,omitempty"`
	APIVersion  string     `json:"apiVersion,omitempty"`
	Time        *timestamp `json:"time,omitempty"`
	FieldsType  string     `json:"fieldsType,omitempty"`
	FieldsV1    *fieldsV1  `json:"fieldsV1,omitempty"`
	Subresource string     `json:"subresource,omitempty"`
}

type objectMeta struct {
	Name                       string               `json:"name,omitempty"`
	GenerateName               string               `json:"generateName,omitempty"`
	Namespace                  string               `json:"namespace,omitempty"`
	SelfLink                   string               `json:"selfLink,omitempty"`
	UID                        uid                  `json:"uid,omitempty"`
	ResourceVersion            string               `json:"resourceVersion,omitempty"`
	Generation                 int64                `json:"generation,omitempty"`
	CreationTimestamp          timestamp            `json:"creationTimestamp,omitempty"`
	DeletionTimestamp          *timestamp           `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64               `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string    `json:"labels,omitempty"`
	Annotations                map[string]string    `json:"annotations,omitempty"`
	OwnerReferences            []ownerReference     `json:"ownerReferences,omitempty"`
	Finalizers                 []string             `json:"finalizers,omitempty"`
	ManagedFields              []managedFieldsEntry `json:"managedFields,omitempty"`
}

type listMeta struct {
	ResourceVersion    string `json:"resourceVersion,omitempty"`
	Continue           string `json:"continue,omitempty"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
}

type keyToPath struct {
	Key  string `json:"key"`
	Path string `json:"path"`
	Mode *int32 `json:"mode,omitempty"`
}

type configMapSource struct {
	Name     string      `json:"name,omitempty"`
	Items    []keyToPath `json:"items,omitempty"`
	Optional *bool       `json:"optional,omitempty"`
}

type objectFieldSelector struct {
	APIVersion string `json:"apiVersion,omitempty"`
	FieldPath  string `json:"fieldPath"`
}

type projection struct {
	ConfigMap   *configMapSource `json:"configMap,omitempty"`
	DownwardAPI *struct {
		Items []struct {
			Path     string               `json:"path"`
			FieldRef *objectFieldSelector `json:"fieldRef,omitempty"`
		} `json:"items,omitempty"`
	} `json:"downwardAPI,omitempty"`
	ServiceAccountToken *struct {
		Audience          string `json:"audience,omitempty"`
		ExpirationSeconds *int64 `json:"expirationSeconds,omitempty"`
		Path              string `json:"path"`
	} `json:"serviceAccountToken,omitempty"`
}

type volumeSource struct {
	HostPath *struct {
		Path string  `json:"path"`
		Type *string `json:"type,omitempty"`
	} `json:"hostPath,omitempty"`
	EmptyDir *struct {
		Medium    string    `json:"medium,omitempty"`
		SizeLimit *quantity `json:"sizeLimit,omitempty"`
	} `json:"emptyDir,omitempty"`
	ConfigMap *configMapSource `json:"configMap,omitempty"`
	Projected *struct {
		Sources     []projection `json:"sources"`
		DefaultMode *int32       `json:"defaultMode,omitempty"`
	} `json:"projected,omitempty"`
}

type volume struct {
	Name         string `json:"name"`
	volumeSource `json:",inline"`
}

type containerPort struct {
	Name          string `json:"name,omitempty"`
	HostPort      int32  `json:"hostPort,omitempty"`
	ContainerPort int32  `json:"containerPort"`
	Protocol      phase  `json:"protocol,omitempty"`
	HostIP        string `json:"hostIP,omitempty"`
}

type envVar struct {
	Name      string `json:"name"`
	Value     string `json:"value,omitempty"`
	ValueFrom *struct {
		FieldRef        *objectFieldSelector `json:"fieldRef,omitempty"`
		ConfigMapKeyRef *struct {
			Name     string `json:"name,omitempty"`
			Key      string `json:"key"`
			Optional *bool  `json:"optional,omitempty"`
		} `json:"configMapKeyRef,omitempty"`
	} `json:"valueFrom,omitempty"`
}

type resources struct {
	Limits   map[resourceName]quantity `json:"limits,omitempty"`
	Requests map[resourceName]quantity `json:"requests,omitempty"`
}

type volumeMount struct {
	Name        string  `json:"name"`
	ReadOnly    bool    `json:"readOnly,omitempty"`
	MountPath   string  `json:"mountPath"`
	SubPath     string  `json:"subPath,omitempty"`
	Propagation *string `json:"mountPropagation,omitempty"`
}

type probeHandler struct {
	Exec *struct {
		Command []string `json:"command,omitempty"`
	} `json:"exec,omitempty"`
	HTTPGet *struct {
		Path   string      `json:"path,omitempty"`
		Port   intOrString `json:"port"`
		Host   string      `json:"host,omitempty"`
		Scheme string      `json:"scheme,omitempty"`
	} `json:"httpGet,omitempty"`
	TCPSocket *struct {
		Port intOrString `json:"port"`
		Host string      `json:"host,omitempty"`
	} `json:"tcpSocket,omitempty"`
}

type probe struct {
	probeHandler                  `json:",inline"`
	InitialDelaySeconds           int32  `json:"initialDelaySeconds,omitempty"`
	TimeoutSeconds                int32  `json:"timeoutSeconds,omitempty"`
	PeriodSeconds                 int32  `json:"periodSeconds,omitempty"`
	SuccessThreshold              int32  `json:"successThreshold,omitempty"`
	FailureThreshold              int32  `json:"failureThreshold,omitempty"`
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

type securityContext struct {
	Capabilities *struct {
		Add  []string `json:"add,omitempty"`
		Drop []string `json:"drop,omitempty"`
	} `json:"capabilities,omitempty"`
	Privileged               *bool  `json:"privileged,omitempty"`
	RunAsUser                *int64 `json:"runAsUser,omitempty"`
	RunAsGroup               *int64 `json:"runAsGroup,omitempty"`
	RunAsNonRoot             *bool  `json:"runAsNonRoot,omitempty"`
	ReadOnlyRootFilesystem   *bool  `json:"readOnlyRootFilesystem,omitempty"`
	AllowPrivilegeEscalation *bool  `json:"allowPrivilegeEscalation,omitempty"`
	FSGroup                  *int64 `json:"fsGroup,omitempty"`
}

type container struct {
	Name                     string           `json:"name"`
	Image                    string           `json:"image,omitempty"`
	Command                  []string         `json:"command,omitempty"`
	Args                     []string         `json:"args,omitempty"`
	WorkingDir               string           `json:"workingDir,omitempty"`
	Ports                    []containerPort  `json:"ports,omitempty"`
	Env                      []envVar         `json:"env,omitempty"`
	Resources                resources        `json:"resources,omitempty"`
	VolumeMounts             []volumeMount    `json:"volumeMounts,omitempty"`
	LivenessProbe            *probe           `json:"livenessProbe,omitempty"`
	ReadinessProbe           *probe           `json:"readinessProbe,omitempty"`
	StartupProbe             *probe           `json:"startupProbe,omitempty"`
	TerminationMessagePath   string           `json:"terminationMessagePath,omitempty"`
	TerminationMessagePolicy phase            `json:"terminationMessagePolicy,omitempty"`
	ImagePullPolicy          phase            `json:"imagePullPolicy,omitempty"`
	SecurityContext          *securityContext `json:"securityContext,omitempty"`
	Stdin                    bool             `json:"stdin,omitempty"`
	TTY                      bool             `json:"tty,omitempty"`
}

type toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          phase  `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            phase  `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

type podSpec struct {
	Volumes                       []volume          `json:"volumes,omitempty"`
	InitContainers                []container       `json:"initContainers,omitempty"`
	Containers                    []container       `json:"containers"`
	RestartPolicy                 phase             `json:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64            `json:"terminationGracePeriodSeconds,omitempty"`
	ActiveDeadlineSeconds         *int64            `json:"activeDeadlineSeconds,omitempty"`
	DNSPolicy                     phase             `json:"dnsPolicy,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	ServiceAccountName            string            `json:"serviceAccountName,omitempty"`
	DeprecatedServiceAccount      string            `json:"serviceAccount,omitempty"`
	AutomountToken                *bool             `json:"automountServiceAccountToken,omitempty"`
	NodeName                      string            `json:"nodeName,omitempty"`
	HostNetwork                   bool              `json:"hostNetwork,omitempty"`
	SecurityContext               *securityContext  `json:"securityContext,omitempty"`
	Hostname                      string            `json:"hostname,omitempty"`
	SchedulerName                 string            `json:"schedulerName,omitempty"`
	Tolerations                   []toleration      `json:"tolerations,omitempty"`
	PriorityClassName             string            `json:"priorityClassName,omitempty"`
	Priority                      *int32            `json:"priority,omitempty"`
	EnableServiceLinks            *bool             `json:"enableServiceLinks,omitempty"`
	PreemptionPolicy              *phase            `json:"preemptionPolicy,omitempty"`
}

type condition struct {
	Type               string    `json:"type"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
	Status             phase     `json:"status"`
	LastProbeTime      timestamp `json:"lastProbeTime,omitempty"`
	LastTransitionTime timestamp `json:"lastTransitionTime,omitempty"`
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
}

type containerState struct {
	Waiting *struct {
		Reason  string `json:"reason,omitempty"`
		Message string `json:"message,omitempty"`
	} `json:"waiting,omitempty"`
	Running *struct {
		StartedAt timestamp `json:"startedAt,omitempty"`
	} `json:"running,omitempty"`
	Terminated *struct {
		ExitCode    int32     `json:"exitCode"`
		Reason      string    `json:"reason,omitempty"`
		StartedAt   timestamp `json:"startedAt,omitempty"`
		FinishedAt  timestamp `json:"finishedAt,omitempty"`
		ContainerID string    `json:"containerID,omitempty"`
	} `json:"terminated,omitempty"`
}

type containerStatus struct {
	Name                 string         `json:"name"`
	State                containerState `json:"state,omitempty"`
	LastTerminationState containerState `json:"lastState,omitempty"`
	Ready                bool           `json:"ready"`
	RestartCount         int32          `json:"restartCount"`
	Image                string         `json:"image"`
	ImageID              string         `json:"imageID"`
	ContainerID          string         `json:"containerID,omitempty"`
	Started              *bool          `json:"started,omitempty"`
}

type podIP struct {
	IP string `json:"ip,omitempty"`
}

type podStatus struct {
	Phase                 phase             `json:"phase,omitempty"`
	Conditions            []condition       `json:"conditions,omitempty"`
	Message               string            `json:"message,omitempty"`
	Reason                string            `json:"reason,omitempty"`
	HostIP                string            `json:"hostIP,omitempty"`
	HostIPs               []podIP           `json:"hostIPs,omitempty"`
	PodIP                 string            `json:"podIP,omitempty"`
	PodIPs                []podIP           `json:"podIPs,omitempty"`
	StartTime             *timestamp        `json:"startTime,omitempty"`
	InitContainerStatuses []containerStatus `json:"initContainerStatuses,omitempty"`
	ContainerStatuses     []containerStatus `json:"containerStatuses,omitempty"`
	QOSClass              phase             `json:"qosClass,omitempty"`
}

type pod struct {
	typeMeta   `json:",inline"`
	objectMeta `json:"metadata,omitempty"`
	Spec       podSpec   `json:"spec,omitempty"`
	Status     podStatus `json:"status,omitempty"`
}

type podList struct {
	typeMeta `json:",inline"`
	listMeta `json:"metadata,omitempty"`
	Items    []pod `json:"items"`
}

type configMap struct {
	typeMeta   `json:",inline"`
	objectMeta `json:"metadata,omitempty"`
	Immutable  *bool             `json:"immutable,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

type configMapList struct {
	typeMeta `json:",inline"`
	listMeta `json:"metadata,omitempty"`
	Items    []configMap `json:"items"`
}
