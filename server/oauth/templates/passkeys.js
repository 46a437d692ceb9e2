// Asks the browser for a passkey and sends its answer with the form it belongs to. Such forms are hidden until then:
// where there is no script, or no passkeys, nobody is offered one.
"use strict";

const fromText = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));

const toText = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (each) => String.fromCharCode(each)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function readOptions(text) {
  const options = JSON.parse(text);
  options.challenge = fromText(options.challenge);
  if (options.user) options.user.id = fromText(options.user.id);
  for (const known of options.excludeCredentials ?? []) known.id = fromText(known.id);
  return options;
}

function writeAnswer(credential) {
  const response = {};
  for (const part of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[part]) response[part] = toText(credential.response[part]);
  }
  return JSON.stringify({ id: credential.id, rawId: toText(credential.rawId), type: credential.type, response });
}

async function ask(form) {
  const publicKey = readOptions(form.dataset.options);
  if (performance.now() > publicKey.timeout) {
    location.assign(form.dataset.again); // the question is too old: the page brings another
    return;
  }
  const asked = form.dataset.passkey === "make" ? navigator.credentials.create : navigator.credentials.get;
  form.elements.passkey.value = writeAnswer(await asked.call(navigator.credentials, { publicKey }));
  form.submit();
}

function offer(form) {
  const button = form.querySelector("button");
  const complaint = form.querySelector("[role=alert]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    complaint.hidden = true;
    try {
      await ask(form);
    } catch (failure) {
      complaint.textContent = failure.name === "InvalidStateError" ? form.dataset.known : form.dataset.stopped;
      complaint.hidden = false;
    }
    button.disabled = false;
  });
  form.hidden = false;
}

if (window.PublicKeyCredential) document.querySelectorAll("form[data-passkey]").forEach(offer);
