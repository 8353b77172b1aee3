import { useEffect, useState } from 'preact/hooks'

/** Returns an address of a file for this page, which is released when the component is removed. Undefined: there is no file. */
export function useObjectUrl(file: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (file === undefined) {
      setUrl(undefined)
      return undefined
    }
    const created = URL.createObjectURL(file)
    setUrl(created)
    return () => URL.revokeObjectURL(created)
  }, [file])
  return url
}
