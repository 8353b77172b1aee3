import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { fetchInfo } from '../info.ts'

/** Fetches the gateway's public info once; undefined until then. */
export function usePageInfo(toRoot: string): Info | undefined {
  const [info, setInfo] = useState<Info>()
  useEffect(() => {
    fetchInfo(toRoot).then(setInfo, () => undefined)
  }, [toRoot])
  return info
}
