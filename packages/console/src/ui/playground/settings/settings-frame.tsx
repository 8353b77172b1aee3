import type { ComponentChildren } from 'preact'
import { cx } from '../../parts/cx.ts'
import { OpenStatus, TokenField, type TokenFieldProps } from './token-field.tsx'

/** Settings that all tabs share: the token, and whether the settings are folded. */
export interface FrameProps extends Pick<TokenFieldProps, 'kept' | 'checked' | 'onCheck'> {
  /** The gateway needs no token. */
  isOpen: boolean
  onToken: TokenFieldProps['onChange']
  /** Only narrow screens fold the settings. */
  open: boolean
  onOpen: (open: boolean) => void
}

/** The settings pane: the token, then the fields of a tab. */
export function SettingsFrame({
  kept,
  checked,
  isOpen,
  onCheck,
  onToken,
  open,
  onOpen,
  summary,
  children,
}: FrameProps & { /** Shown in place of folded fields. */ summary: string; children: ComponentChildren }) {
  return (
    <section class={cx('pane settings', open && 'open')} aria-labelledby="settings">
      <div class="pane-head">
        <h2 id="settings" tabIndex={-1}>
          Settings
        </h2>
        <button
          type="button"
          class="button small quiet fold"
          aria-expanded={open}
          aria-controls="settings-fields"
          onClick={() => onOpen(!open)}
        >
          {open ? 'Hide' : 'Show'}
          <span class="out-of-sight"> settings</span>
        </button>
      </div>
      <p class="summary">{summary}</p>
      <div class="fields" id="settings-fields">
        {isOpen ? (
          <OpenStatus checked={checked} onCheck={onCheck} />
        ) : (
          <TokenField kept={kept} checked={checked} onChange={onToken} onCheck={onCheck} />
        )}
        {children}
      </div>
    </section>
  )
}
