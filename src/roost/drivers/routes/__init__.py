"""The route feed between control's process and the edge's."""
