"""The laboratory: results of `tamis bench` read (`results`), compared (`compare`) and drawn (`plot`, `report`)."""
