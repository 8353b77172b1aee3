const storedAs = 'modelgate-token'

export interface StoredToken {
  readonly token: string
  /** True if stored on this device beyond the tab. */
  readonly remembered: boolean
}

/** Runs storage access, which throws in browsers that block storage. */
function quietly<T>(run: () => T, otherwise: T): T {
  try {
    return run()
  } catch {
    return otherwise
  }
}

/** Returns the token of this tab, else the one stored on this device. */
export function readStoredToken(): StoredToken {
  const device = quietly(() => localStorage.getItem(storedAs), null)
  const tab = quietly(() => sessionStorage.getItem(storedAs), null)
  return { token: tab ?? device ?? '', remembered: device !== null }
}

/**
 * Returns the token of a link (`#token=…`) and removes it from the address bar and the history entry, so that no one copies it with the
 * address. Undefined: the address has none.
 */
export function takeTokenFromAddress(): string | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1))
  const token = parameters.get('token')
  if (token === null) return undefined
  parameters.delete('token')
  const rest = parameters.toString()
  history.replaceState(history.state, '', location.pathname + location.search + (rest === '' ? '' : `#${rest}`))
  return token.trim() || undefined
}

/** Stores a token for this tab only, and leaves the device's. */
export const storeTokenOfTab = (token: string): void =>
  quietly(() => sessionStorage.setItem(storedAs, token), undefined)

/** Stores a token for this tab; on the device only on request, and removes it there when the request is withdrawn. */
export function storeToken({ token, remembered }: StoredToken): void {
  const put = (store: () => Storage, wanted: boolean): void =>
    quietly(() => (wanted ? store().setItem(storedAs, token) : store().removeItem(storedAs)), undefined)
  put(() => sessionStorage, token !== '')
  put(() => localStorage, remembered && token !== '')
}
