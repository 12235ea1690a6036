variable "account_id" {
  description = "Account that the documents are attached in"
  type        = string
  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "account_id: expected twelve digits, as text."
  }
}

variable "region" {
  description = "Region of the record and its key"
  type        = string
}

variable "partition" {
  description = "Partition of ARNs: aws, aws-cn or aws-us-gov"
  type        = string
  default     = "aws"
}

variable "argocd_role_arns" {
  description = "Roles of the Argo CDs that may assume the spoke's role: the hub's, and the spoke's own"
  type        = list(string)
  default     = []
}

variable "external_secrets_role_arn" {
  description = "Role of the hub's External Secrets"
  type        = string
  default     = ""
}

variable "spoke_role_arns" {
  description = "Roles of the spokes that the hub's Argo CD may assume; a pattern of a name of one's own, as arn:aws:iam::*:role/fleet-spoke-*, spares a change of the hub for each spoke"
  type        = list(string)
  default     = []
}

variable "secret_arns" {
  description = "Secrets that the hub's External Secrets may read"
  type        = list(string)
  default     = []
}

variable "key_arns" {
  description = "Keys that they are encrypted with"
  type        = list(string)
  default     = []
}
