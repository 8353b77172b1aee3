import type { Info } from '../info.ts'

/** Fetches the gateway's public info. `toRoot` is the relative path from the page to the gateway's root. */
export async function fetchInfo(toRoot: string): Promise<Info> {
  const response = await fetch(`${toRoot}console/info.json`, { cache: 'no-store' })
  if (!response.ok) throw new Error(`The gateway returned status ${response.status}.`)
  return (await response.json()) as Info
}
