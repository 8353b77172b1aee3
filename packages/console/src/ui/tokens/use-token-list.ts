import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError } from '../admin/api.ts'
import { type Fetched, useFetched } from '../admin/use-fetched.ts'
import { fetchTokens, type Token, type TokenPage } from './tokens-api.ts'

export interface TokenList {
  readonly state: Fetched<TokenPage>['state']
  readonly message: string | undefined
  /** The oldest first. */
  readonly tokens: readonly Token[]
  readonly hasMore: boolean
  loadMore(): void
  /** Shows a changed token, or a new one. */
  put(token: Token): void
}

/** Lists tokens by page. Another administrator's token or owner starts anew. */
export function useTokenList(token: string, owner: string): TokenList {
  const [fetched] = useFetched(
    useCallback((signal: AbortSignal) => fetchTokens(token, { owner }, signal), [token, owner]),
  )
  const [page, setPage] = useState<TokenPage>({ tokens: [] })
  const [failure, setFailure] = useState<string>()
  useEffect(() => {
    setFailure(undefined)
    setPage(fetched.value ?? { tokens: [] })
  }, [fetched.value])
  const { next } = page
  return {
    state: fetched.state,
    message: fetched.message ?? failure,
    tokens: page.tokens,
    hasMore: next !== undefined,
    loadMore() {
      if (next === undefined) return
      fetchTokens(token, { owner, after: next }).then(
        (more) =>
          setPage((before) =>
            // Clicked twice, or another list by now.
            before.next === next ? { ...more, tokens: [...before.tokens, ...more.tokens] } : before,
          ),
        (error: ApiError) => setFailure(error.message),
      )
    },
    put: (changed) =>
      setPage((before) => {
        if (before.tokens.some(({ id }) => id === changed.id))
          return { ...before, tokens: before.tokens.map((token) => (token.id === changed.id ? changed : token)) }
        // On a later page, in the order of issue.
        if (before.next !== undefined || (owner !== '' && changed.owner !== owner)) return before
        return { ...before, tokens: [...before.tokens, changed] }
      }),
  }
}
