import { useEffect, useState } from 'preact/hooks'

/** The tabs of the Playground, in order. Each but chat is one operation, whose code is loaded when it is opened. */
export const tabs = [
  { id: 'chat', title: 'Chat' },
  { id: 'embeddings', title: 'Embeddings' },
  { id: 'images', title: 'Images' },
  { id: 'speech', title: 'Speech' },
  { id: 'transcription', title: 'Transcription' },
  { id: 'rerank', title: 'Rerank' },
] as const

export type TabId = (typeof tabs)[number]['id']
export type OperationId = Exclude<TabId, 'chat'>

/** A tab to show, and what to fill in there. */
export interface ShownTab {
  readonly id: TabId
  readonly model?: string
  /** Files for its input, such as an image to edit. */
  readonly files?: readonly File[]
}

/** Shows a tab, with files for its input. */
export type OpenTab = (id: TabId, files?: readonly File[]) => void

const storedAs = 'modelgate-playground-tab'

const isTab = (id: string | null): id is TabId => tabs.some((tab) => tab.id === id)

/** A fragment without `=` is the name of an element, such as `#main`. */
const parametersOfAddress = (): URLSearchParams =>
  new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '')

function replaceFragment(parameters: URLSearchParams): void {
  const fragment = parameters.toString()
  history.replaceState(history.state, '', location.pathname + location.search + (fragment === '' ? '' : `#${fragment}`))
}

/** Reads `#tab=images&model=…`. The tab remains in the address, so that it can be copied; the model does not. */
function readAddress(): ShownTab | undefined {
  const parameters = parametersOfAddress()
  const id = parameters.get('tab')
  if (!isTab(id)) return undefined
  const model = parameters.get('model')
  if (model === null) return { id }
  parameters.delete('model')
  replaceFragment(parameters)
  return { id, model: model.slice(0, 200) }
}

function readStored(): ShownTab | undefined {
  try {
    const id = sessionStorage.getItem(storedAs)
    return isTab(id) ? { id } : undefined
  } catch {
    // The browser blocks storage.
    return undefined
  }
}

function store(id: TabId): void {
  try {
    if (id === 'chat') sessionStorage.removeItem(storedAs)
    else sessionStorage.setItem(storedAs, id)
  } catch {
    // The address has the tab too.
  }
}

/**
 * Keeps the shown tab in the address (`#tab=images`), next to other parameters of the fragment.
 *
 * @param startsWithChat true: a link filled in a chat, which is shown unless the address names a tab
 */
export function useTab(startsWithChat: boolean): readonly [ShownTab, OpenTab] {
  const [shown, setShown] = useState<ShownTab>(
    () => readAddress() ?? (startsWithChat ? undefined : readStored()) ?? { id: 'chat' },
  )
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const followed = (): void => {
      const found = readAddress()
      if (found === undefined) return
      store(found.id)
      setShown(found)
    }
    addEventListener('hashchange', followed)
    return () => removeEventListener('hashchange', followed)
  }, [])
  const open: OpenTab = (id, files) => {
    const parameters = parametersOfAddress()
    if (id === 'chat') parameters.delete('tab')
    else parameters.set('tab', id)
    replaceFragment(parameters)
    store(id)
    setShown({ id, ...(files === undefined ? {} : { files }) })
  }
  return [shown, open]
}
