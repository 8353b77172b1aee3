const storedAs = 'modelgate-admin-token'

/**
 * Returns the administrator's token of this tab. A token in the fragment (`#token=…`), as the demo prints it, is stored and removed from the
 * address bar and the history entry.
 */
export function readAdminToken(): string {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const linked = fragment.get('token')
  if (linked !== null) {
    fragment.delete('token')
    const rest = fragment.toString()
    history.replaceState(null, '', `${location.pathname}${location.search}${rest === '' ? '' : `#${rest}`}`)
    storeAdminToken(linked)
    return linked
  }
  try {
    return sessionStorage.getItem(storedAs) ?? ''
  } catch {
    return ''
  }
}

/** Stores the token for this tab only; an empty one is removed. */
export function storeAdminToken(token: string): void {
  try {
    if (token === '') sessionStorage.removeItem(storedAs)
    else sessionStorage.setItem(storedAs, token)
  } catch {
    // Storage is blocked: the token holds until the page is closed.
  }
}
