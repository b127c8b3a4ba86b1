package org.eclipse.jface.preference;

/** What MAT's reader asks of the preferences of a workbench, which is not here. */
public interface IPreferenceStore {
  void setDefault(String name, String value);

  void setDefault(String name, boolean value);
}
