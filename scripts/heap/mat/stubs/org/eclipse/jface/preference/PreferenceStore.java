package org.eclipse.jface.preference;

/** Preferences that are all as MAT has them by default. */
public class PreferenceStore implements IPreferenceStore {
  @Override
  public void setDefault(String name, String value) {}

  @Override
  public void setDefault(String name, boolean value) {}
}
