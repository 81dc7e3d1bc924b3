"""Check a few rows: which ones, on what page, and what the answers say about the class prior."""

from sarlearn.audit._estimate import AuditEstimate, class_prior_from_audit
from sarlearn.audit._suggest import AuditSuggestion, suggest_audit

__all__ = ["AuditEstimate", "AuditSuggestion", "class_prior_from_audit", "suggest_audit"]
