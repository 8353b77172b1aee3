import { useState } from 'preact/hooks'
import { readAdminToken, storeAdminToken } from './admin-token.ts'

/** Returns the administrator's token of this tab, and a function that changes it. */
export function useAdminToken(): readonly [string, (token: string) => void] {
  const [token, setToken] = useState(readAdminToken)
  const change = (next: string): void => {
    storeAdminToken(next)
    setToken(next)
  }
  return [token, change]
}
