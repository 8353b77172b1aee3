import type { ComponentChildren } from 'preact'
import { Button } from '../parts/button.tsx'
import { Header } from '../parts/frame.tsx'
import { PageLinks } from '../parts/page-links.tsx'
import { TokenForm } from './token-form.tsx'
import { usePageInfo } from './use-page-info.ts'

const toRoot = '../'

export interface AdminFrameProps {
  current: 'usage' | 'tokens'
  title: string
  /** The administrator's token; empty if there is none. */
  token: string
  /** True if the gateway requires another token: the page asks for it in place of its content. */
  isUnauthorized: boolean
  onToken: (token: string) => void
  /** Buttons beside the title. */
  actions?: ComponentChildren
  children: ComponentChildren
}

/** Frame of a page for administrators: header, links, title, and the form for the token. */
export function AdminFrame({ current, title, token, isUnauthorized, onToken, actions, children }: AdminFrameProps) {
  const info = usePageInfo(toRoot)
  return (
    <div class="admin">
      <Header home={toRoot}>
        <PageLinks info={info} folder="./" current={current} />
      </Header>
      <main id="main" class="wrap" tabIndex={-1}>
        <div class="pane-head">
          <h1>{title}</h1>
          {isUnauthorized ? null : actions}
          {token === '' || isUnauthorized ? null : (
            <Button small look="quiet" onClick={() => onToken('')}>
              Forget token
            </Button>
          )}
        </div>
        {isUnauthorized ? (
          <TokenForm wasRejected={token !== ''} submit={`Show ${current}`} onToken={onToken} />
        ) : (
          children
        )}
      </main>
    </div>
  )
}
