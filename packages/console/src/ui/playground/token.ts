const storedAs = 'modelgate-token'

export interface KeptToken {
  readonly token: string
  /** On this device, beyond this tab. */
  readonly remembered: boolean
}

/** A browser that keeps nothing throws at the mere mention of a store. */
function quietly<T>(run: () => T, otherwise: T): T {
  try {
    return run()
  } catch {
    return otherwise
  }
}

/** The token of this tab, else the one that this device was asked to remember. */
export function keptToken(): KeptToken {
  const device = quietly(() => localStorage.getItem(storedAs), null)
  const tab = quietly(() => sessionStorage.getItem(storedAs), null)
  return { token: tab ?? device ?? '', remembered: device !== null }
}

/** Keeps a token for this tab; on the device only if asked, and there no longer once that is taken back. */
export function keepToken({ token, remembered }: KeptToken): void {
  const put = (store: () => Storage, wanted: boolean): void =>
    quietly(() => (wanted ? store().setItem(storedAs, token) : store().removeItem(storedAs)), undefined)
  put(() => sessionStorage, token !== '')
  put(() => localStorage, remembered && token !== '')
}
