import { useEffect, useRef, useState } from 'preact/hooks'
import { type Checked, checkToken } from '../call/models.ts'
import { readStoredToken, type StoredToken, storeToken, storeTokenOfTab, takeTokenFromAddress } from './token.ts'

// Before anything is drawn: the token leaves the address bar at once.
const tokenOfLink = takeTokenFromAddress()

/** Keeps the token and the gateway's verdict about it. The token of a link, or a stored one, is checked at once. */
export function useToken(gateway: string, isOpen: boolean) {
  const [stored, setStored] = useState(readFirstToken)
  const [checked, setChecked] = useState<Checked>({ state: 'unchecked' })
  // A token has no effect at an open gateway, and is not sent to it.
  const kept = isOpen ? { ...stored, token: '' } : stored
  const latest = useRef(kept.token)

  async function check(token = kept.token): Promise<void> {
    latest.current = token
    setChecked({ state: 'checking' })
    const result = await checkToken(gateway, token)
    // The token may have changed in the meantime.
    if (latest.current !== token) return
    setChecked(result)
  }
  function changeToken(next: StoredToken): void {
    storeToken(next)
    setStored(next)
    if (next.token === latest.current) return
    latest.current = next.token
    setChecked({ state: 'unchecked' })
  }
  useEffect(() => {
    if (isOpen || kept.token !== '') void check()
  }, [isOpen])
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const followed = (): void => {
      const token = takeTokenFromAddress()
      if (token === undefined) return
      storeTokenOfTab(token)
      setStored({ token, remembered: false })
      void check(token)
    }
    addEventListener('hashchange', followed)
    return () => removeEventListener('hashchange', followed)
  }, [])
  return { kept, checked, changeToken, check }
}

function readFirstToken(): StoredToken {
  if (tokenOfLink === undefined) return readStoredToken()
  storeTokenOfTab(tokenOfLink)
  return { token: tokenOfLink, remembered: false }
}
