// The token is asked for when the server wants one.
import { useEffect, useRef, useState, type FormEvent } from "react";

import { keepToken, token } from "../api/token";

export function TokenDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [refused, setRefused] = useState(false);

  useEffect(() => {
    const ask = () => {
      setRefused(token() !== null);
      if (!dialog.current?.open) dialog.current?.showModal();
    };
    window.addEventListener("procession:token-needed", ask);
    return () => window.removeEventListener("procession:token-needed", ask);
  }, []);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    dialog.current?.close();
    keepToken(String(new FormData(event.currentTarget).get("token") ?? "").trim());
  };

  return (
    <dialog ref={dialog} aria-labelledby="token-title">
      <form onSubmit={submit} className="stack">
        <h2 id="token-title">This server wants a token</h2>
        <p>{refused ? "It did not accept the one that it was sent." : "It is the one that the App was given."} It is kept until this tab is closed.</p>
        <label>
          Token
          <input name="token" type="password" autoComplete="off" required autoFocus />
        </label>
        <div className="actions">
          <button type="submit" className="primary">
            Use it
          </button>
        </div>
      </form>
    </dialog>
  );
}
