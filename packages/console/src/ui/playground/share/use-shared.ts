import { useEffect, useState } from 'preact/hooks'
import { firstDraft } from '../settings/draft.ts'
import { takeSharedFromAddress } from './link.ts'
import type { Shared } from './shared-draft.ts'

const sharedByLink = takeSharedFromAddress()

/** True if the page was opened by such a link. */
export const isOpenedByShare = sharedByLink !== undefined

export interface PageNotice {
  readonly text: string
  readonly kind: 'good' | 'warn' | 'bad'
}

const fromLink: PageNotice = {
  kind: 'warn',
  text: 'A link filled in the prompt and the settings, extra fields included. Check them before you send.',
}
const withMessages: PageNotice = {
  kind: 'warn',
  text: 'A link filled in a captured request. Its messages are in “Extra JSON” and are sent in place of the prompt: empty that field to write your own. Check it before you send.',
}
const damagedLink: PageNotice = {
  kind: 'bad',
  text: 'The link is damaged: it was cut, or it is from another program. Ask for it again.',
}

/**
 * The settings and the first text of the input, which a link can fill in. A link sends nothing.
 *
 * @param onFollowed called when such a link was opened in this tab
 */
export function useShared(onFollowed: () => void) {
  const first = typeof sharedByLink === 'object' ? sharedByLink : undefined
  const [draft, setDraft] = useState(first?.draft ?? firstDraft)
  const [prompt, setPrompt] = useState({ key: 0, text: first?.prompt ?? '' })
  const [notice, setNotice] = useState<PageNotice | undefined>(noticeOf(sharedByLink))
  const showShared = (shared: Shared): void => {
    setDraft((before) => ({ ...shared.draft, model: shared.draft.model || before.model }))
    setPrompt(({ key }) => ({ key: key + 1, text: shared.prompt }))
  }
  useEffect(() => {
    // A link that is opened in this tab changes only the fragment.
    const followed = (): void => {
      const shared = takeSharedFromAddress()
      if (shared === undefined) return
      onFollowed()
      setNotice(noticeOf(shared))
      if (shared !== 'damaged') showShared(shared)
    }
    addEventListener('hashchange', followed)
    return () => removeEventListener('hashchange', followed)
  }, [])
  return { draft, setDraft, prompt, notice, setNotice, showShared }
}

const noticeOf = (shared: typeof sharedByLink): PageNotice | undefined =>
  shared === undefined
    ? undefined
    : shared === 'damaged'
      ? damagedLink
      : shared.replacesPrompt === true
        ? withMessages
        : fromLink
