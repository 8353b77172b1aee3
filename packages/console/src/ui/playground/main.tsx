import { render } from 'preact'
import { Header } from '../parts/frame.tsx'

function Playground() {
  return (
    <div class="playground">
      <Header home="../">
        <nav aria-label="Pages">
          <a href="./playground" aria-current="page">
            Playground
          </a>
        </nav>
      </Header>
      <main id="main" tabIndex={-1}>
        <h1 class="out-of-sight">Playground</h1>
        <section class="pane" aria-labelledby="settings">
          <h2 id="settings">Settings</h2>
        </section>
        <section class="pane talk" aria-labelledby="conversation">
          <h2 id="conversation">Conversation</h2>
        </section>
        <section class="pane" aria-labelledby="request">
          <h2 id="request">Request</h2>
        </section>
      </main>
    </div>
  )
}

const app = document.getElementById('app')
if (app !== null) render(<Playground />, app)
