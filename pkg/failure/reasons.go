// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

// Reasons of failures. They are stable: scripts and alerts may rely on them. Explanations explains each.
const (
	ExternalSystemUnreachable Reason = "ExternalSystemUnreachable"
	ExternalSystemUntrusted   Reason = "ExternalSystemUntrusted"
	ExternalSystemThrottled   Reason = "ExternalSystemThrottled"
	ExternalSystemRefused     Reason = "ExternalSystemRefused"
	ExternalCallFailed        Reason = "ExternalCallFailed"
	CallTooLate               Reason = "CallTooLate"
	ExternalResourceFailed    Reason = "ExternalResourceFailed"
	ExternalResourceMissing   Reason = "ExternalResourceMissing"
	ExternalResourceLost      Reason = "ExternalResourceLost"
	ExternalSystemChanged     Reason = "ExternalSystemChanged"
	ExternalNameTaken         Reason = "ExternalNameTaken"
	ExternalNameReserved      Reason = "ExternalNameReserved"
	InvalidSettings           Reason = "InvalidSettings"
	QuotaExceeded             Reason = "QuotaExceeded"
	EscalationRefused         Reason = "EscalationRefused"
	ExternalResourceInUse     Reason = "ExternalResourceInUse"

	CreateInterrupted           Reason = "CreateInterrupted"
	ExternalNameLost            Reason = "ExternalNameLost"
	StateLost                   Reason = "StateLost"
	OwnershipUnproven           Reason = "OwnershipUnproven"
	WaitingForDependents        Reason = "WaitingForDependents"
	WaitingForFinalizers        Reason = "WaitingForFinalizers"
	DeletionsPaused             Reason = "DeletionsPaused"
	WaitingForReferences        Reason = "WaitingForReferences"
	ProviderConfigUnavailable   Reason = "ProviderConfigUnavailable"
	SecretInputUnavailable      Reason = "SecretInputUnavailable"
	ConnectionSecretUnavailable Reason = "ConnectionSecretUnavailable"
	ConnectionDetailsLost       Reason = "ConnectionDetailsLost"
	BadConnectionKeys           Reason = "BadConnectionKeys"
	InvalidPolicy               Reason = "InvalidPolicy"
	RotationImpossible          Reason = "RotationImpossible"
	SpecRefused                 Reason = "SpecRefused"
	StatusRefused               Reason = "StatusRefused"
	JournalUnwritable           Reason = "JournalUnwritable"
	ProviderPanicked            Reason = "ProviderPanicked"
	InternalError               Reason = "InternalError"
)

// IsOutOfReach is true for reasons why the external system cannot be used at all, maybe for good.
func IsOutOfReach(r Reason) bool { return IsSystemOutOfReach(r) || r == ProviderConfigUnavailable }

// IsSystemOutOfReach is true for those of them that calls to the external system show, not the ProviderConfig alone.
func IsSystemOutOfReach(r Reason) bool {
	return r == ExternalSystemUnreachable || r == ExternalSystemUntrusted || r == ExternalSystemRefused
}

// IsLeak is true for reasons of objects whose external resource may be unknown, or without credentials, until a person acts.
func IsLeak(r Reason) bool {
	return r == CreateInterrupted || r == ConnectionDetailsLost || r == ExternalNameLost || r == OwnershipUnproven
}

// An Explanation explains what a reason means and what to do about it.
type Explanation struct {
	Reason  Reason
	Meaning string
	Action  string
}

// Explanations returns an explanation of every reason, those of the external system first.
func Explanations() []Explanation { return append(ofSystems(), ofObjects()...) }

// ofSystems are the explanations of what the external system answers, and of what is found there.
func ofSystems() []Explanation {
	return []Explanation{
		{ExternalSystemUnreachable, "The external system does not answer, or calls to it are paused because it did not answer before (circuit open).",
			"Usually nothing: calls are retried. If it lasts, check the address in the ProviderConfig and the network."},
		{ExternalSystemUntrusted, "No secure connection to the external system can be established: its certificate is not trusted, or one of the two sides does " +
			"not accept the TLS settings of the other.",
			"Correct the address or the certificate authorities in the ProviderConfig, or the certificate of the external system. Calls are retried."},
		{ExternalSystemThrottled, "The external system, or a limit of the ProviderConfig, allows fewer calls.", "Usually nothing: calls are retried later. If it lasts, raise the limit or the poll interval."},
		{ExternalSystemRefused, "The external system does not accept the credentials.", "Correct the credentials in the Secret that the ProviderConfig names."},
		{ExternalCallFailed, "The external system answered with an error that the provider does not classify.", "Read the message of condition Synced."},
		{CallTooLate, "A call was not sent, since the controller may have been replaced before it could send it: its machine was paused, it lost the connection " +
			"to the API server, or the call waited too long for its turn.",
			"Usually nothing: the call is made anew, by this process or by the one that took over. If it lasts, raise the limits of the ProviderConfig."},
		{ExternalResourceFailed, "The external system reports that something is wrong with the resource, or it was renamed there.",
			"Read the message of condition Synced and check the resource in the external system."},
		{ExternalResourceMissing, "The external resource does not exist, and is not created, since managementPolicies do not permit that or the annotation " +
			"crossplane.io/external-name names one that there is not.",
			"Correct the annotation; or, to have one created, remove it, and add Create to the policies."},
		{ExternalResourceLost, "The external resource is gone, with its data, and is not created again without permission, or it was replaced by " +
			"another one without an ownership label.",
			"Restore it under the same name: the object recovers at the next poll. To accept one that was restored without the label, set the " +
				"annotation bowline.dev/restored-as on the managed resource to the id in the message. To create an empty one, set the annotation " +
				"bowline.dev/recreate to the present time or to its UID."},
		{ExternalSystemChanged, "The external resource was not found in the external system that its ProviderConfig leads to now, which is another one than " +
			"that in which it was last seen, or what has its name there may be another one. It is neither created again nor taken for deleted.",
			"Point the ProviderConfig or its Secret back: the object recovers at once. To accept what has its name there, set the annotation " +
				"bowline.dev/restored-as as the message says. To create another one in the present system, set the annotation " +
				"bowline.dev/recreate on the managed resource to the present time or to its UID. To delete only the object, set the annotation " +
				"bowline.dev/orphan-on-delete on it to \"true\"."},
		{ExternalNameTaken, "An external resource of that name exists and does not belong to the object, or may be what another object is creating.",
			"Do what condition Synced says: wait for that creation; choose another name; adopt the resource with its data by crossplane.io/external-name or " +
				"bowline.dev/take-over-from; or, where names do not count, as for privileges, delete one of the two objects."},
		{ExternalNameReserved, "The external name is that of a system object, which is not created, adopted, changed or deleted.",
			"Choose another external name, or only observe the resource: set managementPolicies to [Observe]. To delete an object that " +
				"adopted one in the past, set deletionPolicy to Orphan."},
		{InvalidSettings, "The external system does not accept the settings.", "Correct the settings that the message names."},
		{QuotaExceeded, "A quota of the external system is used up.", "Delete what is not needed, or raise the quota."},
		{EscalationRefused, "The object, or what it asks for, reaches beyond its namespace through a configuration that all namespaces share.",
			"Remove what the message names. To permit it, the platform team sets the field of the ClusterProviderConfig that condition Synced names."},
		{ExternalResourceInUse, "Other resources of the external system depend on this one, or sessions use it, so that it is not changed or deleted.",
			"Delete what condition Synced of the managed resource lists. The call is retried."},
	}
}

// ofObjects are the explanations of what an object waits for.
func ofObjects() []Explanation {
	return []Explanation{
		{CreateInterrupted, "A creation was cut off, and its result cannot be found out.",
			"Look for the resource in the external system (`bowline leaks` lists what to look for). Set the annotation crossplane.io/external-name, " +
				"or delete what was left behind; then remove the annotation crossplane.io/external-create-pending."},
		{StateLost, "What a Terraform provider has to remember of the external resource is lost or damaged, or is about another one. It may have had " +
			"secrets that nothing else has, such as a generated password.",
			"Restore the Secret that condition Synced names from a backup, or do without it as the condition says. To delete only the object, set the " +
				"annotation bowline.dev/orphan-on-delete on it to \"true\"."},
		{ExternalNameLost, "The annotation crossplane.io/external-name was removed, for example by kubectl replace, and the kind cannot search for " +
			"the external resource. No second one is created.",
			"Look for the resource in the external system (`bowline leaks` lists what to look for) and set the annotation. To create another one, " +
				"set the annotation bowline.dev/recreate, as condition Synced says."},
		{OwnershipUnproven, "Nothing proves that the external resource belongs to the object, such as its label, which it lost, and the ProviderConfig is shared " +
			"with other namespaces or does not permit to adopt it. It is neither changed nor deleted.",
			"Check in the external system whose it is. Label it again, or set the field of the status, as condition Synced says, or delete only " +
				"the object with the annotation bowline.dev/orphan-on-delete."},
		{WaitingForDependents, "Deletion waits for objects that refer to this one and are being deleted too.", "Usually nothing."},
		{WaitingForFinalizers, "Deletion waits until finalizers of other programs are removed. The external resource is deleted only after that.",
			"Usually nothing: the program that owns the finalizer removes it. If it lasts, check whether that program runs."},
		{DeletionsPaused, "More external resources of the ProviderConfig were to be deleted within a minute than its limit permits.",
			"Check what deletes them, then resume all: `bowline resume-deletions`."},
		{WaitingForReferences, "A field refers to an object that is missing, not ready or being deleted.",
			"Usually nothing: reconciliation resumes with that object. Otherwise correct the reference."},
		{ProviderConfigUnavailable, "The ProviderConfig or its credentials cannot be read or used.",
			"Create the ProviderConfig or the Secret that the message names, or correct providerConfigRef."},
		{SecretInputUnavailable, "A Secret that a field named ...SecretRef refers to is missing, lacks the key, or has an empty value.",
			"Create the Secret or the key, set the value, or correct the reference."},
		{ConnectionSecretUnavailable, "The connection Secret cannot be read or written.",
			"Do what the message says: name another Secret in spec.writeConnectionSecretToRef, or, for the original of a claim, create the namespace that its class names in specTemplate.writeConnectionSecretsToNamespace. Copies stay as they are."},
		{ConnectionDetailsLost, "The connection Secret lacks keys that the external system returned only once.",
			"Read condition Synced of the managed resource: copy them from the claim's Secret if that has them, request new ones (bowline rotate), or " +
				"reset them in the external system. To do without them, remove the annotation bowline.dev/created-connection-keys."},
		{BadConnectionKeys, "Templates in the claim's annotation bowline.dev/connection-keys have mistakes. The claim's Secret has all other keys.", "Correct the templates of the keys that the message names."},
		{InvalidPolicy, "spec.managementPolicies cannot be followed.", `Add Observe to the list, or set it to ["*"].`},
		{RotationImpossible, "The credentials cannot be rotated as requested: the kind has none that can be replaced, they are in a Secret of yours, or there " +
			"is no connection Secret for new ones.",
			"Change the credentials in the Secret that the message names, or remove the annotation bowline.dev/rotate-credentials-at."},
		{SpecRefused, "The API server refuses settings that the external system chose.",
			"Set the fields that condition Synced names yourself, or leave LateInitialize out of managementPolicies."},
		{StatusRefused, "The API server refuses what the provider reports in the status.", "Install the CRD that belongs to the provider. If it is installed, report it to the authors of the provider."},
		{JournalUnwritable, "The controllers cannot write the journal of changes through Terraform providers, and change nothing without it.",
			"Make room on the disk of the controllers, or let them write to the file that condition Synced names. The call is retried."},
		{ProviderPanicked, "The provider's code panicked, which is a bug in the provider.", "Report it with the stack trace in the controllers' log."},
		{InternalError, "Another error occurred, such as one of the API server.", "Read the message of condition Synced."},
	}
}
