package main

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Widget is the custom kind, as far as the controller reads it. The manifest in crd.yaml
// describes it to a real cluster.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	// Spec is what the user wants.
	Spec WidgetSpec `json:"spec"`
	// Status is what the controller has done about it.
	Status WidgetStatus `json:"status"`
}

// WidgetSpec is what ends up in the config map.
type WidgetSpec struct {
	// Size is from 1 to 100.
	Size int64 `json:"size"`
	// Color is red, green or blue.
	Color string `json:"color"`
	// Note is free text.
	Note string `json:"note"`
}

// WidgetStatus is written by the controller alone.
type WidgetStatus struct {
	// Phase is "Ready" once the config map is as it should be.
	Phase string `json:"phase"`
	// ObservedGeneration is the generation of the spec that Phase speaks of.
	ObservedGeneration int64 `json:"observedGeneration"`
}
