package org.eclipse.ui.preferences;

/** See the class above. */
public class ScopedPreferenceStore extends org.eclipse.jface.preference.PreferenceStore {
  public ScopedPreferenceStore(Object scope, String name) {}
}
